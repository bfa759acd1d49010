import type { ApiError } from "@/api/client";
import type { JobProblem } from "@/api/job-form";
import { getAt, type JsonObject, parent } from "@/lib/paths";

export type Placed = {
  /** Problems by the path of the field that they stand under. */
  at: ReadonlyMap<string, JobProblem[]>;
  /** Of no field of this form: shown at the top. */
  elsewhere: JobProblem[];
};

/** Field at which a problem of a whole part appears. */
const STAND_INS: Record<string, string> = { data: "data.dataset", "environment.type": "environment" };

/**
 * Without what an answer about an earlier draft misses and the form has by now. The rest stays until the next answer
 * is there, so that nothing flickers while somebody types.
 */
export function stillTrue(problems: readonly JobProblem[], spec: JsonObject): JobProblem[] {
  return problems.filter(
    ({ code, param }) => code !== "missing" || !param || getAt(spec, param) === undefined,
  );
}

/** Puts each problem under the field it names, or the nearest part around it; one message once. */
export function place(problems: readonly JobProblem[], fields: ReadonlySet<string>): Placed {
  const at = new Map<string, JobProblem[]>();
  const elsewhere: JobProblem[] = [];
  for (const problem of problems) {
    const field = home(problem, fields);
    const list = field === null ? elsewhere : (at.get(field) ?? []);
    if (field !== null) at.set(field, list);
    const message = named(problem, field);
    if (!list.some((one) => one.message === message.message && goldenOf(one) === goldenOf(message)))
      list.push(message);
  }
  return { at, elsewhere };
}

/** A problem that appears away from its field names the field. */
function named(problem: JobProblem, field: string | null): JobProblem {
  const { param, message } = problem;
  if (!param || field === (STAND_INS[param] ?? param) || message.includes(param)) return problem;
  return { ...problem, message: `${param}: ${message}` };
}

function home({ param, message }: JobProblem, fields: ReadonlySet<string>): string | null {
  // A rule between two fields has no place of its own; its message begins with one of them.
  const start = param ?? message.match(/^[a-z_]+(?:\.[a-z_]+|\[\d+\])+/)?.[0] ?? "";
  for (let path = start; path !== ""; path = parent(path)) {
    const field = STAND_INS[path] ?? path;
    if (fields.has(field)) return field;
  }
  return null;
}

/** The golden case that a problem is about: two cases may fail alike. */
export const goldenOf = ({ code }: JobProblem) => (code?.startsWith("gold_") ? code : undefined);

/** A refusal of the server as problems: those it lists, or the one that it is. */
export function refusal(error: ApiError): JobProblem[] {
  const listed = error.errors
    .filter((detail) => detail.param)
    .map(({ param, message, code }) => ({ param, message, ...(code?.startsWith("gold_") && { code }) }));
  if (listed.length > 0) {
    return listed.map((one) => (one.param === error.param ? { ...one, hint: error.hint } : one));
  }
  return [{ param: error.param, message: error.message, hint: error.hint, code: error.code }];
}

/** The first problem in the order of the fields, then those of no field. */
export function firstPath(placed: Placed, order: readonly string[]): string | null {
  return order.find((path) => placed.at.has(path)) ?? [...placed.at.keys()][0] ?? null;
}
