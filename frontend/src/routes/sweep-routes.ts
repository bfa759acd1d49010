import { createRoute } from "@tanstack/react-router";
import type { SweepPlace } from "@/features/sweeps/place";
import { text } from "./root";
import { screen } from "./screen";
import { signedIn } from "./signed-in";

export const sweeps = createRoute({
  getParentRoute: () => signedIn,
  path: "/sweeps",
  component: screen(() => import("./sweeps"), "SweepsRoute"),
});

export const newSweep = createRoute({
  getParentRoute: () => signedIn,
  path: "/sweeps/new",
  validateSearch: (search: Record<string, unknown>): { from?: string } => ({ from: text(search.from) }),
  component: screen(() => import("./new-sweep"), "NewSweepRoute"),
});

export const sweep = createRoute({
  getParentRoute: () => signedIn,
  path: "/sweeps/$id",
  validateSearch: (search: Record<string, unknown>): SweepPlace => ({ by: text(search.by) }),
  component: screen(() => import("./sweeps"), "SweepRoute"),
});
