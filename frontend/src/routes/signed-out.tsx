import { createRoute } from "@tanstack/react-router";
import { root, text } from "./root";
import { screen } from "./screen";

/** The ways in, before there is a session. */
export const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search: Record<string, unknown>): { token?: string; next?: string; ended?: boolean } => ({
    token: text(search.token),
    next: text(search.next),
    ended: search.ended === true || undefined,
  }),
  component: screen(() => import("./sign-in"), "SignInRoute"),
});

const ofToken = (search: Record<string, unknown>): { token?: string } => ({ token: text(search.token) });

export const join = createRoute({
  getParentRoute: () => root,
  path: "/join",
  validateSearch: ofToken,
  component: screen(() => import("./join"), "JoinRoute"),
});

export const resetPassword = createRoute({
  getParentRoute: () => root,
  path: "/reset-password",
  validateSearch: ofToken,
  component: screen(() => import("./join"), "ResetPasswordRoute"),
});
