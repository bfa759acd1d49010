import { createRoute, redirect } from "@tanstack/react-router";
import { ApiError } from "@/api/client";
import { meQuery } from "@/api/session";
import { Shell } from "@/features/shell/Shell";
import { root } from "./root";
import { RouteFailure, Waiting } from "./states";

/** Everything behind the session. */
export const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  component: Shell,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.ensureQueryData(meQuery);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        throw redirect({ to: "/sign-in", search: { next: location.href } });
      }
      throw error;
    }
  },
  errorComponent: RouteFailure,
  pendingComponent: Waiting,
});
