import { isObject, type Json, type JsonObject } from "./paths";
import { type Field, type FieldPlace, label, leaf } from "./spec-fields";
import { type JsonSchema, type Node, resolve, variants } from "./spec-schema";

/** Whether a reward's text is a grader's JSON; the same rule as the server's. */
export const isGrader = (source: string) => /^[\ufeff \t\r\n]*\{/.test(source);

/** The node of all grader types in the schema of a job specification. */
export function graderNode(root: JsonSchema): Node | null {
  const grader = root.$defs?.StoredGrader?.properties?.grader;
  return grader ? resolve(grader, root) : null;
}

export type Fault = { message: string; line: number | null; column: number | null };
export type Read = { grader: JsonObject } | { fault: Fault };

/** The object that a text stands for, or what keeps it from being one and, where the browser tells it, the place. */
export function readGrader(text: string): Read {
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (isObject(value)) return { grader: value };
    return { fault: { message: 'A grader is a JSON object: {"type": …}.', line: 1, column: 1 } };
  } catch (error) {
    return { fault: faultOf((error as Error).message, text) };
  }
}

/** Browsers word it differently: `at position 12`, `at line 2 column 3`, or no place at all. */
function faultOf(reason: string, text: string): Fault {
  const message = reason
    .replace(/^JSON\.parse: /, "")
    .replace(/ (?:in JSON )?at (?:position|line) .*$/, "")
    .replace(/, (?:"|\.\.\.).* is not valid JSON$/, "");
  const [, line, column] = reason.match(/line (\d+) column (\d+)/) ?? [];
  if (line && column) return { message, line: Number(line), column: Number(column) };
  const position = reason.match(/position (\d+)/)?.[1] ?? (/end of/.test(reason) ? text.length : null);
  if (position === null) return { message, line: null, column: null };
  const before = text.slice(0, Number(position)).split("\n");
  return { message, line: before.length, column: (before.at(-1) as string).length + 1 };
}

export const writeGrader = (grader: JsonObject): string => `${JSON.stringify(grader, null, 2)}\n`;

/** What a part of a grader is edited as. */
export type Shape =
  /** One of several types; the chosen one's fields follow. */
  | { kind: "variant"; of: Record<string, Node> }
  | { kind: "object"; node: Node }
  /** A list of objects. */
  | { kind: "items"; item: Node }
  /** Name → grader, or name → object. */
  | { kind: "named"; item: Node }
  /** Name → number. */
  | { kind: "values" }
  | { kind: "template" }
  | { kind: "code" }
  | { kind: "formula" }
  | { kind: "leaf" };

const TEMPLATE_LENGTH = 65_536;
const CODE_LENGTH = 262_144;

export function shapeOf(key: string, node: Node, root: JsonSchema): Shape {
  const tagged = variants(node, root);
  if (tagged) return { kind: "variant", of: tagged.of };
  if (node.properties) return { kind: "object", node };
  if (node.type === "array" && node.items) {
    const item = resolve(node.items, root);
    if (item.properties) return { kind: "items", item };
  }
  if (node.type === "object" && isObject(node.additionalProperties)) {
    const item = resolve(node.additionalProperties as JsonSchema, root);
    if (item.properties || item.discriminator) return { kind: "named", item };
    if (item.type === "number") return { kind: "values" };
  }
  // A text, or a text among other things such as a message's parts.
  const text = node.type === "string" ? node : node.anyOf?.find((one) => one.type === "string");
  if (text?.maxLength === TEMPLATE_LENGTH) return { kind: "template" };
  if (text?.maxLength === CODE_LENGTH) return { kind: "code" };
  if (key === "calculate_output") return { kind: "formula" };
  return { kind: "leaf" };
}

/** The field of a leaf, for the control that its kind has. */
export function fieldOf(key: string, node: Node, value: Json | undefined, required: boolean): Field {
  const at: FieldPlace = { path: key, value, fallback: node.default, required, tags: [] };
  return { ...leaf(node, at), long: false, label: labelOf(key) };
}

const UNITS: readonly (readonly [RegExp, string])[] = [
  [/ seconds$| s$/, " (seconds)"],
  [/ mib$/, " (MiB)"],
  [/ kib$/, " (KiB)"],
];

/** `timeout_s` → `Timeout (seconds)`, `url` → `URL`. */
export function labelOf(key: string): string {
  const text = UNITS.reduce((name, [pattern, unit]) => name.replace(pattern, unit), label(key));
  return text === "Url" ? "URL" : text;
}

/** Fields that come first: what must be given, and templates. With none of these, all of them. */
export function byImportance(node: Node, root: JsonSchema): { first: string[]; more: string[] } {
  const keys = Object.keys(node.properties ?? {}).filter((key) => key !== "type");
  const needed = (key: string) => {
    const inner = resolve(node.properties?.[key] ?? {}, root);
    return node.required?.includes(key) || shapeOf(key, inner, root).kind === "template";
  };
  const first = keys.filter(needed);
  if (first.length === 0) return { first: keys.filter((key) => key !== "name"), more: ["name"] };
  const more = keys.filter((key) => !first.includes(key));
  // The name says the least.
  return { first, more: [...more.filter((key) => key !== "name"), ...more.filter((key) => key === "name")] };
}

/** The keys of an object in the schema's order, its type first; what the schema does not know comes last. */
export function arranged(value: JsonObject, node: Node): JsonObject {
  const order = ["type", ...Object.keys(node.properties ?? {})];
  const place = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => place(a) - place(b)));
}

/** Names that a template may use: `item.answer`, `item["two words"]`, `sample.output_text`. */
export const itemName = (column: string): string =>
  /^[\w-]+$/.test(column) ? `item.${column}` : `item["${column.replaceAll('"', "")}"]`;

export const SAMPLE_NAMES = [
  ["sample.output_text", "completion"],
  ["sample.output_json", "completion as JSON"],
  ["sample.output_tools", "tool calls"],
  ["sample.choices", "in OpenAI's choices format"],
] as const;

/** Columns that templates name and a row does not have. */
export function unknownColumns(text: string, columns: readonly string[]): string[] {
  if (columns.length === 0) return [];
  const named = [...text.matchAll(/\{\{\s*item(?:\.([\w-]+)|\["([^"]*)"\]|\['([^']*)'\])/g)].map(
    ([, plain, double, single]) => plain ?? double ?? single ?? "",
  );
  return [...new Set(named)].filter((name) => !columns.includes(name));
}

/** Sub-graders by name: a list is keyed by the names in it, one grader by its own. */
export function namedParts(value: Json | undefined): JsonObject {
  const list = isObject(value) && typeof value.type === "string" ? [value] : value;
  if (!Array.isArray(list)) return isObject(list) ? list : {};
  return Object.fromEntries(
    list.filter(isObject).map((part, i) => [String(part.name || `part_${i + 1}`), part]),
  );
}

/** `wanted`, or the first of `wanted_2`, `wanted_3`… that is free. */
export function freeName(baseName: string, taken: readonly string[]): string {
  let name = baseName;
  for (let n = 2; taken.includes(name); n += 1) name = `${baseName}_${n}`;
  return name;
}

/** A multi whose part has another name, in its formula and its gates too. */
export function renamed(multi: JsonObject, old: string, name: string): JsonObject {
  const swap = (text: Json | undefined) => (text === old ? name : text) as Json;
  const parts = Object.entries(namedParts(multi.graders)).map(([key, part]) => [swap(key), part]);
  let next: JsonObject = { ...multi, graders: Object.fromEntries(parts) };
  if (typeof multi.calculate_output === "string" && /^\w+$/.test(old)) {
    const formula = multi.calculate_output.replace(/[A-Za-z_]\w*(?!\s*\()/g, (word) => swap(word) as string);
    next = { ...next, calculate_output: formula };
  }
  if (!isObject(multi.gates)) return next;
  const gates = Object.entries(multi.gates).map(([key, gate]) => [
    swap(key),
    isObject(gate) ? { ...gate, part: swap(gate.part) } : gate,
  ]);
  return { ...next, gates: Object.fromEntries(gates) };
}

/** A multi without one of its parts; its own gate goes, and those that it decided. The formula is left to people. */
export function withoutPart(multi: JsonObject, name: string): JsonObject {
  const { [name]: _, ...graders } = namedParts(multi.graders);
  if (!isObject(multi.gates)) return { ...multi, graders };
  const left = Object.entries(multi.gates).filter(
    ([key, gate]) => key !== name && !(isObject(gate) && gate.part === name),
  );
  const { gates: __, ...rest } = multi;
  return left.length > 0 ? { ...rest, graders, gates: Object.fromEntries(left) } : { ...rest, graders };
}

/** A multi with a gate of a part, or without it. */
export function gated(multi: JsonObject, name: string, gate: JsonObject | null): JsonObject {
  const { [name]: _, ...others } = isObject(multi.gates) ? multi.gates : ({} as JsonObject);
  const { gates: __, ...rest } = multi;
  const gates = gate ? { ...others, [name]: gate } : others;
  return Object.keys(gates).length > 0 ? { ...rest, gates } : rest;
}
