/** The environment of a draft: its type, its sources of tools, and a call that is tried. */
import type { Schemas } from "@/api/client";
import { getAt, isObject, type Json, type JsonObject, setAt, unsetAt } from "@/lib/paths";
import { parseNumber } from "@/lib/spec-values";

type Draft = JsonObject;

export type EnvironmentType = "single_turn" | "tools" | "agent";
export type SourceType = "python" | "class" | "mcp" | "openenv";

export const isServer = (type: SourceType): type is "mcp" | "openenv" => type === "mcp" || type === "openenv";
export type Source = {
  readonly type: SourceType;
  readonly source?: string;
  readonly url?: string;
} & JsonObject;

export const SOURCES = "environment.sources";

export function typeOf(draft: Draft): EnvironmentType {
  const type = getAt(draft, "environment.type");
  return type === "tools" || type === "agent" ? type : "single_turn";
}

const withoutNulls = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== null));

/** A source in the long form: a job file may say `mcp: https://…`, and a fork says null where there is no value. */
function longForm(raw: JsonObject): Source {
  const source = withoutNulls(raw);
  if (source.type !== undefined) return source as Source;
  const { mcp, openenv, ...rest } = source;
  if (typeof mcp === "string") return { ...rest, type: "mcp", url: mcp };
  return typeof openenv === "string" ? { ...rest, type: "openenv", url: openenv } : (source as Source);
}

export const sourcesOf = (draft: Draft): readonly Source[] => {
  const list = getAt(draft, SOURCES);
  return Array.isArray(list) ? list.filter(isObject).map(longForm) : [];
};

const FUNCTIONS = `def multiply(a: int, b: int) -> int:
    """Multiply two numbers.

    Args:
        a: First factor.
        b: Second factor.
    """
    return a * b
`;

const CLASS = `class Guess:
    def reset(self, **row):
        self.number, self.solved = 7, False
        return "Guess a number from 1 to 10."

    def guess(self, number: int) -> str:
        """Guess the number; the answer is lower, higher or right."""
        self.solved = number == self.number
        return "right" if self.solved else "higher" if number < self.number else "lower"

    def get_reward(self):
        return float(self.solved)
`;

const STARTS: Record<SourceType, Source> = {
  python: { type: "python", source: FUNCTIONS },
  class: { type: "class", source: CLASS },
  mcp: { type: "mcp", url: "" },
  openenv: { type: "openenv", url: "" },
};

/** Another environment; tools begin with a function, so that there is something to change. */
export function withType(draft: Draft, type: EnvironmentType): Draft {
  if (typeOf(draft) === type) return draft;
  if (type === "single_turn") return unsetAt(draft, "environment");
  return setAt(draft, "environment", type === "tools" ? { type, sources: [STARTS.python] } : { type });
}

const withSources = (draft: Draft, sources: readonly Source[]): Draft =>
  setAt(draft, SOURCES, sources as unknown as Json);

export const addSource = (draft: Draft, type: SourceType, code?: string): Draft =>
  withSources(draft, [...sourcesOf(draft), code === undefined ? STARTS[type] : { type, source: code }]);

export const removeSource = (draft: Draft, index: number): Draft =>
  withSources(
    draft,
    sourcesOf(draft).filter((_, at) => at !== index),
  );

/** Changed fields of a source; the tools that a server listed belong to its former address. */
export const changeSource = (draft: Draft, index: number, change: JsonObject): Draft =>
  withSources(
    draft,
    sourcesOf(draft).map((source, at) => {
      if (at !== index) return source;
      const { tools: _, ...rest } = source;
      return { ...rest, ...change } as Source;
    }),
  );

/** What a file is: a class with `reset` is an environment class. */
export const kindOf = (code: string): SourceType =>
  /^class \w[^\n]*:/m.test(code) && /^[ \t]+def reset\(/m.test(code) ? "class" : "python";

/** Sources that the server can read: those with code or an address. */
export const isFilled = (source: Source) =>
  Boolean(isServer(source.type) ? source.url : source.source?.trim());

export type CheckSource = Schemas["ToolsCheck"]["sources"][number];

export type Parameter = {
  name: string;
  description: string;
  required: boolean;
  kind: "text" | "number" | "boolean" | "choice" | "json";
  choices: string[];
  placeholder: string;
};

const typed = (schema: JsonObject): string | undefined => {
  if (typeof schema.type === "string") return schema.type;
  const options = Array.isArray(schema.anyOf) ? schema.anyOf.filter(isObject) : [];
  const types = options.map((one) => one.type).filter((one) => one !== "null");
  return types.length === 1 && typeof types[0] === "string" ? types[0] : undefined;
};

function kindOfParameter(schema: JsonObject): Parameter["kind"] {
  if (Array.isArray(schema.enum) && schema.enum.every((one) => typeof one === "string")) return "choice";
  switch (typed(schema)) {
    case "string":
      return "text";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    default:
      return "json";
  }
}

/** The parameters of a tool in the order of its source. */
export function parametersOf(schema: Record<string, unknown> | undefined): Parameter[] {
  const { properties, required } = (schema ?? {}) as JsonObject;
  if (!isObject(properties)) return [];
  const needed = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, value]) => {
    const one = isObject(value) ? value : {};
    const type = typed(one) ?? "JSON";
    const fallback = one.default === undefined ? "" : `default ${JSON.stringify(one.default)}`;
    return {
      name,
      description: typeof one.description === "string" ? one.description : "",
      required: needed.includes(name),
      kind: kindOfParameter(one),
      choices: Array.isArray(one.enum) ? one.enum.map(String) : [],
      placeholder: fallback || type,
    };
  });
}

/** What was typed, as a model would write it; empty optional fields are missing. Wrong values stay: the tool is tried. */
export function argumentsText(
  parameters: readonly Parameter[],
  typed: Readonly<Record<string, string>>,
): string {
  const values: Record<string, Json> = {};
  for (const { name, kind, required } of parameters) {
    const text = typed[name] ?? "";
    if (text === "" && !(required && kind === "text")) continue;
    values[name] = argumentOf(kind, text);
  }
  return JSON.stringify(values);
}

function argumentOf(kind: Parameter["kind"], text: string): Json {
  if (kind === "number") return parseNumber(text) ?? text;
  if (kind === "boolean") return text === "true";
  if (kind !== "json") return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
