import { createRoute, redirect } from "@tanstack/react-router";
import { text } from "./root";
import { screen } from "./screen";
import { signedIn } from "./signed-in";

export const models = createRoute({
  getParentRoute: () => signedIn,
  path: "/models",
  // Addresses of earlier versions named the model here.
  validateSearch: (search: Record<string, unknown>): { show?: string } => ({ show: text(search.show) }),
  beforeLoad: ({ search: { show } }) => {
    if (show) throw redirect({ to: "/models/$id", params: { id: show }, replace: true });
  },
  component: screen(() => import("./models"), "ModelsRoute"),
});

export const model = createRoute({
  getParentRoute: () => signedIn,
  path: "/models/$id",
  component: screen(() => import("./models"), "ModelRoute"),
});

export const adapters = createRoute({
  getParentRoute: () => signedIn,
  path: "/adapters",
  component: screen(() => import("./adapters"), "AdaptersRoute"),
});
