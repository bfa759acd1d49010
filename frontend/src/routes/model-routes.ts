import { createRoute } from "@tanstack/react-router";
import { text } from "./root";
import { screen } from "./screen";
import { signedIn } from "./signed-in";

export const models = createRoute({
  getParentRoute: () => signedIn,
  path: "/models",
  validateSearch: (search: Record<string, unknown>): { show?: string } => ({ show: text(search.show) }),
  component: screen(() => import("./models"), "ModelsRoute"),
});

export const adapters = createRoute({
  getParentRoute: () => signedIn,
  path: "/adapters",
  component: screen(() => import("./adapters"), "AdaptersRoute"),
});
