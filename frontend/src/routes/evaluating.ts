import { createRoute } from "@tanstack/react-router";
import type { Place as EvaluationPlace } from "@/features/evaluations/place";
import { text, whole } from "./root";
import { screen } from "./screen";
import { signedIn } from "./signed-in";

export const evaluations = createRoute({
  getParentRoute: () => signedIn,
  path: "/evaluations",
  component: screen(() => import("./evaluations"), "EvaluationsRoute"),
});

export const newEvaluation = createRoute({
  getParentRoute: () => signedIn,
  path: "/evaluations/new",
  validateSearch: (
    search: Record<string, unknown>,
  ): { from?: string; job?: string; dataset?: string; reward?: string; like?: string } => ({
    from: text(search.from),
    // The job of a checkpoint in `from`.
    job: text(search.job),
    dataset: text(search.dataset),
    reward: text(search.reward),
    like: text(search.like),
  }),
  component: screen(() => import("./evaluations"), "NewEvaluationRoute"),
});

const ROW_ORDERS = ["row", "low", "high", "fell", "rose"] as const;

export const evaluation = createRoute({
  getParentRoute: () => signedIn,
  path: "/evaluations/$id",
  validateSearch: (search: Record<string, unknown>): EvaluationPlace => ({
    against: text(search.against),
    sorted: ROW_ORDERS.find((order) => order === search.sorted),
    row: whole(search.row),
  }),
  component: screen(() => import("./evaluations"), "EvaluationRoute"),
});
