import type { Schemas } from "@/api/client";
import { rank } from "@/lib/rank";

export type Item = {
  id: string;
  group: "Actions" | "This job" | "Go to" | "Jobs" | "Datasets" | "Rewards" | "Models" | "Adapters";
  label: string;
  /** Shown at the right: a state, a count. */
  note?: string;
  /** Other words that find it: an id, a synonym. */
  also?: string;
  /** An address, or something to do. */
  to?: string;
  run?: () => void;
};

const GROUPS: Item["group"][] = [
  "This job",
  "Actions",
  "Go to",
  "Jobs",
  "Datasets",
  "Rewards",
  "Models",
  "Adapters",
];
const PER_GROUP = 8;
const UNASKED = new Set<Item["group"]>(["This job", "Actions", "Go to", "Jobs"]);

export const ROOMS: Item[] = [
  { id: "go-start", group: "Go to", label: "Start", also: "home overview", to: "/" },
  { id: "go-jobs", group: "Go to", label: "Jobs", also: "runs training", to: "/jobs" },
  { id: "go-datasets", group: "Go to", label: "Datasets", also: "files prompts data", to: "/datasets" },
  { id: "go-rewards", group: "Go to", label: "Rewards", also: "graders scores", to: "/rewards" },
  { id: "go-models", group: "Go to", label: "Models", also: "base model", to: "/models" },
  { id: "go-adapters", group: "Go to", label: "Adapters", also: "lora download", to: "/adapters" },
  { id: "go-sweeps", group: "Go to", label: "Sweeps", also: "grid search seeds ablation", to: "/sweeps" },
  {
    id: "go-evaluations",
    group: "Go to",
    label: "Evaluations",
    also: "eval benchmark compare gate",
    to: "/evaluations",
  },
  {
    id: "go-deployments",
    group: "Go to",
    label: "Deployments",
    also: "serve api openai",
    to: "/deployments",
  },
  { id: "go-playground", group: "Go to", label: "Playground", also: "chat try sample", to: "/playground" },
  { id: "go-settings", group: "Go to", label: "Settings", also: "account preferences", to: "/settings" },
  {
    id: "go-people",
    group: "Go to",
    label: "People",
    also: "settings members invitations",
    to: "/settings?tab=people",
  },
  { id: "go-keys", group: "Go to", label: "API keys", also: "settings tokens", to: "/settings?tab=keys" },
  {
    id: "go-usage",
    group: "Go to",
    label: "Usage",
    also: "settings budgets costs",
    to: "/settings?tab=usage",
  },
  {
    id: "go-webhooks",
    group: "Go to",
    label: "Webhooks",
    also: "settings notifications",
    to: "/settings?tab=webhooks",
  },
  { id: "go-audit", group: "Go to", label: "Audit log", also: "settings who", to: "/settings?tab=audit" },
];

const TABS = ["overview", "completions", "checkpoints", "logs", "config"];

/** The tabs of the job that is on screen, from the page's address. */
export function tabsOf(path: string): Item[] {
  const id = /^\/jobs\/(?!new$)([^/]+)$/.exec(path)?.[1];
  if (!id) return [];
  return TABS.map((tab) => ({
    id: `tab-${tab}`,
    group: "This job",
    label: tab.charAt(0).toUpperCase() + tab.slice(1),
    to: `/jobs/${id}?tab=${tab}`,
  }));
}

export const jobItems = (jobs: readonly Schemas["Job"][]): Item[] =>
  jobs.map(({ id, name, status }) => ({
    id,
    group: "Jobs",
    label: name,
    note: status,
    also: id,
    to: `/jobs/${id}`,
  }));

/**
 * What the palette shows, in groups. Without a question: what can be done here and the newest jobs; with one:
 * everything that answers to it, the best few of each group. Groups stand in the order of their best answer's fit
 * only in so far as an exact name comes first; otherwise their order is fixed, so that the list does not jump.
 */
export function arrange(query: string, items: readonly Item[]): Item[] {
  const searching = query.trim() !== "";
  const fitting = rank(query, searching ? items : items.filter(({ group }) => UNASKED.has(group)));
  return GROUPS.flatMap((group) => fitting.filter((item) => item.group === group).slice(0, PER_GROUP));
}
