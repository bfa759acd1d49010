import type { Evaluation, EvaluationCreate } from "@/api/evaluations";
import { targetOf } from "@/api/targets";
import { getAt, type JsonObject } from "@/lib/paths";

type Split = NonNullable<EvaluationCreate["split"]>;

/** The form of a new evaluation; numbers are text while they are typed. */
export type Draft = {
  name: string;
  /** Id of an adapter, a checkpoint or a base model. */
  what: string;
  dataset: string;
  /** How its rows become prompts and which column is the answer, where that is not the dataset's own view. */
  view: EvaluationCreate["prompt_view"];
  reward: string;
  /** Empty: the newest. */
  revision: string;
  split: Split;
  /** Rows with equal prompts are on one side of the split. */
  together: boolean;
  numbers: Record<NumberName, number | "">;
  stop: string;
};

/** Field → what it says, smallest, largest, step; as `SamplingSettings` has them. */
export const NUMBERS = {
  rows: ["Rows", "Maximum number, evenly spread over the split.", 1, 5000, 1],
  samples_per_row: ["Samples per row", "More samples give a more precise mean per row.", 1, 16, 1],
  max_tokens: ["Max tokens", "Longer completions are truncated.", 1, 4096, 1],
  temperature: ["Temperature", "0 selects the most likely token.", 0, 10, 0.1],
  top_p: ["Top p", "1 keeps all tokens.", 0.01, 1, 0.05],
  pass_above: ["Pass threshold", "A completion passes if its reward is above this value.", -1000, 1000, 0.1],
  seed: ["Seed", "For the split and for sampling.", 0, 2 ** 31 - 1, 1],
  held_out_rows: ["Held-out rows", "Leave empty for the default of a job.", 0, 100_000, 1],
} as const satisfies Record<string, readonly [string, string, number, number, number]>;

export type NumberName = keyof typeof NUMBERS;

export const DEFAULTS: Draft["numbers"] = {
  rows: 200,
  samples_per_row: 4,
  max_tokens: 256,
  temperature: 1,
  top_p: 1,
  pass_above: 0.5,
  seed: 0,
  held_out_rows: "",
};

export const EMPTY: Draft = {
  name: "",
  what: "",
  dataset: "",
  view: null,
  reward: "",
  revision: "",
  split: "all",
  together: false,
  numbers: DEFAULTS,
  stop: "",
};

export const MOST = 20_000;

/** How many completions it asks for, when the dataset has enough rows. */
export const completions = ({ numbers }: Draft) => Number(numbers.rows) * Number(numbers.samples_per_row);

/** What keeps it from being sent; null when nothing does. */
export function faultOf(draft: Draft): string | null {
  if (!draft.what) return "Choose a model.";
  if (!draft.dataset) return "Choose a dataset.";
  if (!draft.reward) return "Choose a reward.";
  const empty = (Object.keys(NUMBERS) as NumberName[]).find(
    (name) => name !== "held_out_rows" && draft.numbers[name] === "",
  );
  if (empty) return `${NUMBERS[empty][0]} is empty.`;
  if (completions(draft) > MOST) return "Rows × samples per row must be at most 20,000.";
  return null;
}

export function bodyOf(draft: Draft): EvaluationCreate {
  const { held_out_rows, ...numbers } = draft.numbers;
  return {
    kind: "stand_alone",
    ...targetOf(draft.what),
    dataset: draft.dataset,
    ...(draft.view && { prompt_view: draft.view }),
    reward: draft.reward,
    ...(draft.revision && { revision: Number(draft.revision) }),
    ...(draft.name.trim() && { name: draft.name.trim() }),
    split: draft.split,
    split_by: draft.together ? "prompt" : "row",
    ...(numbers as Record<keyof typeof numbers, number>),
    ...(held_out_rows !== "" && { held_out_rows }),
    stop: draft.stop === "" ? [] : [draft.stop.replaceAll("\\n", "\n").replaceAll("\\t", "\t")],
    timeout_seconds: 2,
    granularity: "sample",
  };
}

/** The form that would ask for the same once more. */
export function like(one: Evaluation): Draft {
  const { split, split_by, stop, held_out_rows, ...numbers } = { ...one.settings };
  const valid = Object.fromEntries(Object.entries(numbers).filter(([name]) => name in NUMBERS));
  return {
    name: one.name ?? "",
    what: one.adapter ?? one.checkpoint ?? one.model ?? "",
    dataset: one.dataset ?? "",
    view: one.prompt_view ?? null,
    reward: one.stored ?? "",
    revision: one.revision ? String(one.revision) : "",
    split: split ?? "all",
    together: split_by === "prompt",
    numbers: { ...DEFAULTS, ...valid, held_out_rows: held_out_rows ?? "" },
    stop: stop?.[0]?.replaceAll("\n", "\\n").replaceAll("\t", "\\t") ?? "",
  };
}

/** The job that trained weights: the one that the link names, else that of an adapter or of an adapter's best checkpoint. */
export const jobOfWeights = (
  what: string,
  linked: string | undefined,
  adapters: readonly { id: string; job: string | null; best?: { id: string } | null }[],
): string | undefined =>
  linked ??
  adapters.find(({ id, best }) => what !== "" && (id === what || best?.id === what))?.job ??
  undefined;

/** Whether the form asks for exactly what the job measures on its held-out rows. */
export const isAsInJob = (draft: Draft, spec: JsonObject) =>
  JSON.stringify(asInJob(draft, spec)) === JSON.stringify(draft);

/** What the job of an adapter held out, prompted and scored as there: the rows that it never trained on. */
export function asInJob(draft: Draft, spec: JsonObject): Draft {
  const at = (path: string) => getAt(spec, path);
  const number = (path: string, old: number | "") => {
    const value = at(path);
    return typeof value === "number" ? value : old;
  };
  const text = (path: string, old: string) => {
    const value = at(path);
    return typeof value === "string" ? value : old;
  };
  const { numbers } = draft;
  const revision = at("rewards[0].revision");
  const apart = text("data.held_out", "");
  return {
    ...draft,
    dataset: apart || text("data.dataset", draft.dataset),
    view: {
      columns: (at("data.columns") ?? {}) as NonNullable<Draft["view"]>["columns"],
      prompt_template: text("data.prompt_template", "") || null,
      system_prompt: text("data.system_prompt", "") || null,
    },
    reward: text("rewards[0].reward", draft.reward),
    revision: typeof revision === "number" ? String(revision) : draft.revision,
    split: apart ? "all" : "held_out",
    together: at("data.split_by") === "prompt",
    numbers: {
      ...numbers,
      seed: number("seed", numbers.seed),
      held_out_rows: number("data.held_out_rows", ""),
      max_tokens: number("rollout.max_completion_tokens", numbers.max_tokens),
      pass_above: number("evaluation.pass_above", numbers.pass_above),
    },
  };
}
