import type { JobProblem } from "@/api/job-form";
import type { Method, SweepBody } from "@/api/sweeps";
import { isObject, type Json, type JsonObject } from "@/lib/paths";
import type { Field } from "@/lib/spec-fields";
import { complaint } from "@/lib/spec-fields";
import { parseNumber } from "@/lib/spec-values";

/** A field to vary and its values as they were typed. Of a ladder: one value. */
export type Varied = {
  path: string;
  kind: "list" | "range";
  values: readonly string[];
  min?: Json | undefined;
  max?: Json | undefined;
  points?: Json | undefined;
  log: boolean;
  /** Of a ladder: in one rung with the setting before it. */
  joined?: boolean | undefined;
};

/** The job that the sweep's jobs begin from: one of this project, or a job file. */
export type BaseJob = { id?: string; name: string; spec: JsonObject };

/** Numbers that are none stay text; undefined is the server's default. */
export type SweepDraft = {
  base: BaseJob | null;
  name: string;
  method: Method;
  varied: readonly Varied[];
  trials?: Json | undefined;
  /** `3` or `1, 5, 9`. */
  seeds: string;
  seed?: Json | undefined;
  parallel?: Json | undefined;
  jobs?: Json | undefined;
  hours?: Json | undefined;
  money?: Json | undefined;
  halving: boolean;
  factor?: Json | undefined;
  first?: Json | undefined;
  objective: "last" | "best";
};

export const EMPTY: SweepDraft = {
  base: null,
  name: "",
  method: "grid",
  varied: [],
  seeds: "",
  halving: false,
  objective: "last",
};

const SECONDS_PER_HOUR = 3600;

/** A problem before the server is asked; `missing` ones wait until the sweep is started. */
export type OwnProblem = JobProblem & { missing?: true };

export const isNumeric = ({ kind }: Pick<Field, "kind">) =>
  kind === "integer" || kind === "number" || kind === "word_or_number";

/** Another job's specification: the sweep names the jobs, and marks them in their metadata. */
export function baseOf(job: { id?: string; name: string; spec: unknown }): BaseJob {
  const { name: _, metadata, ...rest } = (isObject(job.spec) ? job.spec : {}) as Record<string, Json>;
  const { sweep: _sweep, trial: _trial, ...notes } = (isObject(metadata) ? metadata : {}) as JsonObject;
  const spec = Object.keys(notes).length > 0 ? { ...rest, metadata: notes } : rest;
  return { ...(job.id !== undefined && { id: job.id }), name: job.name, spec };
}

/** Numbers that were typed or pasted together, one by one. */
export const splitNumbers = (texts: readonly string[]): string[] => [
  ...new Set(texts.flatMap((text) => text.split(/[\s,;]+/).filter(Boolean))),
];

/** A value as typed, as the field has it. */
export function parseValue(field: Field | undefined, text: string): { value: Json } | { message: string } {
  const trimmed = text.trim();
  if (trimmed === "null" && field?.nullable) return { value: null };
  if (field?.kind === "boolean") return { value: trimmed === "true" };
  if (field?.kind === "word_or_number" && field.options.some(({ value }) => value === trimmed))
    return { value: trimmed };
  if (field && isNumeric(field)) {
    const value = parseNumber(trimmed);
    const message = typeof value === "number" ? complaint({ ...field, value }) : "Type a number.";
    return message === null ? { value: value as number } : { message: `${trimmed}: ${message}` };
  }
  const isJson = field === undefined || ["list", "tuple", "map"].includes(field.kind);
  if (isJson || (field.kind === "word_or_list" && trimmed.startsWith("["))) {
    try {
      return { value: JSON.parse(trimmed) as Json };
    } catch {
      return field === undefined ? { value: trimmed } : { message: `${trimmed}: Write it as JSON.` };
    }
  }
  return { value: text };
}

/** `3` → 3, `1, 5` → [1, 5]; undefined for none. */
export function parseSeeds(text: string): number | number[] | { message: string } | undefined {
  const parts = text.split(/[\s,;]+/).filter(Boolean);
  if (parts.length === 0) return undefined;
  const numbers = parts.map(Number);
  if (!numbers.every((one) => Number.isInteger(one) && one >= 0))
    return { message: "Type how many seeds, such as 3, or a list separated by commas, such as 1, 5, 9." };
  return numbers.length === 1 && !text.includes(",") ? (numbers[0] as number) : numbers;
}

type Fields = ReadonlyMap<string, Field>;
type Parsed = { value: Json; problems: OwnProblem[] };

const listOf = (one: Varied, field: Field | undefined, param: string): Parsed => {
  const parsed = one.values.map((text) => parseValue(field, text));
  const problems: OwnProblem[] = parsed.flatMap((item) =>
    "message" in item ? [{ param, message: item.message }] : [],
  );
  if (parsed.length === 0) problems.push({ param, message: "Add at least one value.", missing: true });
  return { value: parsed.flatMap((item) => ("value" in item ? [item.value] : [])), problems };
};

const rangeOf = (one: Varied, field: Field | undefined, method: Method, param: string): Parsed => {
  const problems: OwnProblem[] = [];
  const ends = { min: one.min, max: one.max, ...(method === "grid" && { points: one.points }) };
  for (const [name, value] of Object.entries(ends)) {
    const message =
      value === undefined
        ? "Fill in all numbers of the range."
        : typeof value !== "number"
          ? `${String(value)}: Type a number.`
          : field && name !== "points"
            ? complaint({ ...field, value })
            : null;
    if (message && !problems.some((problem) => problem.message === message))
      problems.push({ param, message, ...(value === undefined && { missing: true as const }) });
  }
  const flags = { ...(one.log && { log: true }), ...(field?.whole && { integer: true }) };
  return { value: { ...ends, ...flags } as Json, problems };
};

/** The settings of a ladder by rung. */
export function rungsOf<Row extends Pick<Varied, "joined">>(varied: readonly Row[]): Row[][] {
  const rungs: Row[][] = [];
  for (const one of varied) {
    const last = rungs.at(-1);
    if (one.joined && last) last.push(one);
    else rungs.push([one]);
  }
  return rungs;
}

/** The sweep as the API has it, with what is wrong before the server is asked. */
export function toSweep(draft: SweepDraft, fields: Fields): { body: SweepBody; problems: OwnProblem[] } {
  const problems: OwnProblem[] = [];
  if (!draft.base) problems.push({ param: "job", message: "Choose a job or a job file.", missing: true });
  const ladder = draft.method === "ladder";
  const rungs = rungsOf(draft.varied);
  const parsed = draft.varied.map((one) => {
    const param = ladder ? rungParam(rungs, one) : `parameters.${one.path}`;
    const field = fields.get(one.path);
    const { value, problems: own } = ladder
      ? listOf({ ...one, values: one.values.slice(0, 1) }, field, param)
      : one.kind === "range"
        ? rangeOf(one, field, draft.method, param)
        : listOf(one, field, param);
    problems.push(...own);
    return [one.path, value] as const;
  });
  const seeds = parseSeeds(draft.seeds);
  const wrongSeeds = isObject(seeds) ? seeds : null;
  if (wrongSeeds) problems.push({ param: "seeds", message: String(wrongSeeds.message) });
  if (parsed.length === 0 && (draft.method !== "grid" || seeds === undefined)) {
    const message = draft.method === "grid" ? "Add a setting, or enter seeds." : "Add at least one setting.";
    problems.push({ param: "varied", message, missing: true });
  }
  if (searches(draft.method) && draft.trials === undefined)
    problems.push({ param: "trials", message: "Fill in how many combinations to try.", missing: true });
  for (const name of numbersOf(draft))
    if (typeof draft[name] === "string")
      problems.push({ param: PLACES[name], message: `${draft[name]}: Type a number.` });
  const budget = {
    jobs: draft.jobs,
    seconds: typeof draft.hours === "number" ? draft.hours * SECONDS_PER_HOUR : undefined,
    money: draft.money,
  };
  const body = {
    name: draft.name.trim() || undefined,
    method: draft.method,
    parameters: !ladder && parsed.length > 0 ? Object.fromEntries(parsed) : undefined,
    rungs: ladder ? rungs.map((rung) => ({ set: oneValueEach(rung, new Map(parsed)) })) : undefined,
    trials: searches(draft.method) ? draft.trials : undefined,
    seeds: wrongSeeds ? undefined : seeds,
    seed: searches(draft.method) ? draft.seed : undefined,
    parallel: draft.parallel,
    budget: Object.values(budget).some((value) => value !== undefined) ? budget : undefined,
    halving: draft.halving ? { factor: draft.factor, first: draft.first } : undefined,
    objective: draft.objective === "best" ? draft.objective : undefined,
    job: draft.base?.spec ?? {},
  };
  return { body: JSON.parse(JSON.stringify(body)) as SweepBody, problems };
}

const rungParam = (rungs: readonly Varied[][], one: Varied) =>
  `rungs[${rungs.findIndex((rung) => rung.includes(one))}].set.${one.path}`;

const oneValueEach = (rung: readonly Varied[], values: ReadonlyMap<string, Json>) =>
  Object.fromEntries(
    rung.map(({ path }) => {
      const value = values.get(path);
      return [path, Array.isArray(value) ? (value[0] ?? null) : null];
    }),
  );

/** Later settings are chosen by the results of earlier ones. */
export const dependsOnResults = (method: Method) => method === "tpe" || method === "cma_es";

export const searches = (method: Method) => method === "random" || dependsOnResults(method);

/** The number fields that the form has: others keep what was typed, and it does not count. */
const numbersOf = ({ method, halving }: SweepDraft): NumberName[] => [
  ...(searches(method) ? (["trials", "seed"] as const) : []),
  ...(["parallel", "jobs", "hours", "money"] as const),
  ...(halving ? (["factor", "first"] as const) : []),
];

/** Field of the draft → field of the sweep. */
const PLACES = {
  trials: "trials",
  seed: "seed",
  parallel: "parallel",
  jobs: "budget.jobs",
  hours: "budget.seconds",
  money: "budget.money",
  factor: "halving.factor",
  first: "halving.first",
} as const;
export type NumberName = keyof typeof PLACES;
const OTHERS = ["name", "seeds", "halving", "objective", "varied", ...Object.values(PLACES)] as const;

/** Where the form shows a problem: `job`, a varied field's path, a field of the sweep; null for none. */
export function placeOf(param: string | null | undefined, draft: SweepDraft): string | null {
  if (!param) return null;
  if (param === "parameters" || param === "rungs") return "varied";
  const rung = /^rungs\[(\d+)\](?:\.set\.(.*))?/.exec(param);
  if (rung) {
    const rows = rungsOf(draft.varied)[Number(rung[1])] ?? [];
    return pathKey((rows.find(({ path }) => startsWithPath(rung[2] ?? "", path)) ?? rows[0])?.path);
  }
  if (param.startsWith("parameters.")) {
    const rest = param.slice("parameters.".length);
    const row = draft.varied.find(({ path }) => startsWithPath(rest, path));
    return row ? pathKey(row.path) : "varied";
  }
  if (param === "job" || param.startsWith("job.")) return "job";
  return [...OTHERS].sort((a, b) => b.length - a.length).find((one) => param.startsWith(one)) ?? null;
}

const startsWithPath = (param: string, path: string) => param === path || param.startsWith(`${path}.`);

const pathKey = (path: string | undefined) => (path === undefined ? "varied" : `path:${path}`);

/** Problems by the place that shows them; those of no field under "". */
export function placed(problems: readonly JobProblem[], draft: SweepDraft): Map<string, JobProblem[]> {
  const places = new Map<string, JobProblem[]>();
  for (const problem of problems) {
    const place = placeOf(problem.param, draft) ?? "";
    const field = place === "job" && problem.param ? problem.param.replace(/^job\.?/, "") : "";
    const message =
      field && !problem.message.includes(field) ? `${field}: ${problem.message}` : problem.message;
    const list = places.get(place) ?? [];
    places.set(place, list);
    if (!list.some((one) => one.message === message)) list.push({ ...problem, message });
  }
  return places;
}
