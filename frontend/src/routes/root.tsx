import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, Outlet } from "@tanstack/react-router";
import { NotFound } from "./states";

export const root = createRootRouteWithContext<{ client: QueryClient }>()({
  component: Outlet,
  notFoundComponent: NotFound,
});

export const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined);
export const whole = (value: unknown) =>
  Number.isInteger(Number(value)) && Number(value) >= 0 ? Number(value) : undefined;
