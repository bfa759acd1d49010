import type { QueryClient } from "@tanstack/react-query";
import { createRoute, createRouter } from "@tanstack/react-router";
import { type JobFilter, STATES } from "@/api/job-list";
import { jobQuery, metricsQuery } from "@/api/jobs";
import { metaQuery } from "@/api/meta";
import { type ComparePlace, PROMPT_SORTS } from "@/features/compare/place";
import { type PlaceSearch, placeSearch } from "@/features/completions/place";
import type { DatasetPlace } from "@/features/datasets/place";
import { type ViewSearch, validateView } from "@/features/job/curves/view-state";
import { type PromptsSearch, promptsSearch } from "@/features/job/prompts/place";
import type { Place as PlaygroundPlace } from "@/features/playground/Pickers";
import type { RewardPlace } from "@/features/rewards/place";
import { SETTINGS_TABS, type SettingsPlace } from "@/features/settings/place";
import { evaluation, evaluations, newEvaluation } from "./evaluating";
import { adapters, model, models } from "./model-routes";
import type { NewJobSearch } from "./new-job";
import { root, text, whole } from "./root";
import { screen } from "./screen";
import { signedIn } from "./signed-in";
import { join, resetPassword, signIn } from "./signed-out";
import { RouteFailure } from "./states";
import { newSweep, sweep, sweeps } from "./sweep-routes";

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  component: screen(() => import("./start"), "StartRoute"),
});

const jobs = createRoute({
  getParentRoute: () => signedIn,
  path: "/jobs",
  validateSearch: (search: Record<string, unknown>): JobFilter => ({
    state: STATES.find((state) => state === search.state),
    q: text(search.q),
    tag: text(search.tag),
    model: text(search.model),
    preset: text(search.preset),
    owner: text(search.owner),
    archived: search.archived === "only" || search.archived === "include" ? search.archived : undefined,
    by: text(search.by),
    group: text(search.group),
    columns: text(search.columns),
  }),
  component: screen(() => import("./jobs"), "JobsRoute"),
});

const compare = createRoute({
  getParentRoute: () => signedIn,
  path: "/compare",
  validateSearch: (search: Record<string, unknown>): ComparePlace => ({
    jobs: text(search.jobs),
    at: search.at === "best" ? "best" : undefined,
    group: text(search.group),
    metric: text(search.metric),
    sections: text(search.sections),
    split: search.split === "train" ? "train" : undefined,
    prompts_by: PROMPT_SORTS.find((sort) => sort === search.prompts_by),
    q: text(search.q),
    prompt_hash: text(search.prompt_hash),
  }),
  component: screen(() => import("./compare"), "CompareRoute"),
});

const newJob = createRoute({
  getParentRoute: () => signedIn,
  path: "/jobs/new",
  validateSearch: (search: Record<string, unknown>): NewJobSearch => ({
    model: text(search.model),
    dataset: text(search.dataset),
    reward: text(search.reward),
    from: text(search.from),
    preflight: text(search.preflight),
    examples: search.examples ? true : undefined,
  }),
  component: screen(() => import("./new-job"), "NewJobRoute"),
});

const TABS = ["overview", "completions", "prompts", "checkpoints", "logs", "config"] as const;
export type JobTab = (typeof TABS)[number];

const job = createRoute({
  getParentRoute: () => signedIn,
  path: "/jobs/$id",
  validateSearch: (
    search: Record<string, unknown>,
  ): { tab?: JobTab; try?: number } & PlaceSearch & PromptsSearch & ViewSearch => ({
    tab: TABS.find((tab) => tab === search.tab),
    try: whole(search.try),
    ...placeSearch(search),
    ...promptsSearch(search),
    ...validateView(search),
  }),
  // Curves are on their way while the screen's code is: a long job has a megabyte of them.
  loader: ({ context: { client }, params: { id } }) => {
    void client.prefetchQuery(jobQuery(id));
    void client.prefetchQuery(metricsQuery(id));
    void client.prefetchQuery(metaQuery);
  },
  component: screen(() => import("./job"), "JobRoute"),
});

const datasets = createRoute({
  getParentRoute: () => signedIn,
  path: "/datasets",
  component: screen(() => import("./datasets"), "DatasetsRoute"),
});

const dataset = createRoute({
  getParentRoute: () => signedIn,
  path: "/datasets/$id",
  validateSearch: (search: Record<string, unknown>): DatasetPlace => ({
    tab: (["prompts", "report", "jobs"] as const).find((tab) => tab === search.tab),
    offset: whole(search.offset),
    row: whole(search.row),
    seed: whole(search.seed),
    held: whole(search.held),
    by: search.by === "prompt" ? "prompt" : undefined,
    against: text(search.against),
    model: text(search.model),
  }),
  component: screen(() => import("./dataset"), "DatasetRoute"),
});

const rewards = createRoute({
  getParentRoute: () => signedIn,
  path: "/rewards",
  component: screen(() => import("./rewards"), "RewardsRoute"),
});

const GRADER_VIEWS = ["form", "json"] as const;

const newReward = createRoute({
  getParentRoute: () => signedIn,
  path: "/rewards/new",
  validateSearch: (search: Record<string, unknown>): Pick<RewardPlace, "dataset" | "rows" | "grader"> => ({
    dataset: text(search.dataset),
    rows: text(search.rows),
    grader: GRADER_VIEWS.find((view) => view === search.grader),
  }),
  component: screen(() => import("./reward"), "NewRewardRoute"),
});

const REWARD_TABS = ["golden", "replay", "revisions", "jobs"] as const;

const reward = createRoute({
  getParentRoute: () => signedIn,
  path: "/rewards/$id",
  validateSearch: (search: Record<string, unknown>): RewardPlace => ({
    tab: REWARD_TABS.find((tab) => tab === search.tab),
    revision: whole(search.revision),
    against: whole(search.against),
    dataset: text(search.dataset),
    rows: text(search.rows),
    job: text(search.job),
    replay: text(search.replay),
    grader: GRADER_VIEWS.find((view) => view === search.grader),
  }),
  component: screen(() => import("./reward"), "RewardRoute"),
});

const deployments = createRoute({
  getParentRoute: () => signedIn,
  path: "/deployments",
  // `from`: a form is open, for these weights when they are named; `job`: the job of a checkpoint in `from`.
  validateSearch: (search: Record<string, unknown>): { show?: string; from?: string; job?: string } => ({
    show: text(search.show),
    from: typeof search.from === "string" ? search.from : undefined,
    job: text(search.job),
  }),
  component: screen(() => import("./deployments"), "DeploymentsRoute"),
});

const settings = createRoute({
  getParentRoute: () => signedIn,
  path: "/settings",
  validateSearch: (search: Record<string, unknown>): SettingsPlace => ({
    tab: SETTINGS_TABS.map(([tab]) => tab).find((tab) => tab !== undefined && tab === search.tab),
    webhook: text(search.webhook),
    delivery: text(search.delivery),
    q: text(search.q),
  }),
  component: screen(() => import("./settings"), "SettingsRoute"),
});

const playground = createRoute({
  getParentRoute: () => signedIn,
  path: "/playground",
  validateSearch: (search: Record<string, unknown>): PlaygroundPlace => ({
    model: text(search.model),
    job: text(search.job),
    step: whole(search.step),
    deployment: text(search.deployment),
    beside: text(search.beside),
  }),
  component: screen(() => import("./playground"), "PlaygroundRoute"),
});

const tree = root.addChildren([
  signIn,
  join,
  resetPassword,
  signedIn.addChildren([
    home,
    jobs,
    newJob,
    compare,
    job,
    datasets,
    dataset,
    rewards,
    newReward,
    reward,
    models,
    model,
    adapters,
    evaluations,
    newEvaluation,
    evaluation,
    sweeps,
    newSweep,
    sweep,
    deployments,
    playground,
    settings,
  ]),
]);

export function createAppRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { client },
    defaultPreload: "intent",
    defaultErrorComponent: RouteFailure,
    scrollRestoration: true,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
