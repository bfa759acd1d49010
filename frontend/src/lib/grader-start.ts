import { freeName, itemName, namedParts } from "./grader";
import type { Json, JsonObject } from "./paths";
import { type JsonSchema, type Node, resolve } from "./spec-schema";

/** What new graders begin with, where that depends on the project. */
export type Hints = {
  /** Column with the reference answer. */
  answer: string | undefined;
  /** Name of a judge of the project. */
  judge: string | undefined;
};

/** Starter reward: compares with the reference answer in the column `answer`. */
export const firstPython = (answer = "answer") => `import re

TAGS = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def grade(sample, item):
    """1 for exactly the reference answer, else 0."""
    text = sample["output_text"]
    tagged = TAGS.findall(text)
    given = (tagged[-1] if tagged else text).strip()
    expected = str(item[${JSON.stringify(answer)}]).strip()
    reason = f"{given[:40]!r}, expected {expected[:40]!r}"
    return {"score": float(given == expected), "reason": reason}
`;

/** Whether a source is still what it began with, for whichever column. */
export function isFirstPython(source: string): boolean {
  const [, column] = source.match(/str\(item\[("(?:[^"\\]|\\.)*")\]\)/) ?? [];
  return column !== undefined && source === firstPython(JSON.parse(column) as string);
}

const OUTPUT = "{{ sample.output_text }}";
const ASKS_A_JUDGE = new Set(["score_model", "label_model", "ranking_judge"]);

/** The types in words; one that is not here is called as in JSON. */
export const TYPE_TITLES: Readonly<Record<string, string>> = {
  string_check: "Compare two texts",
  text_similarity: "Text similarity",
  score_model: "Score from a judge",
  label_model: "Label from a judge",
  python: "Python code",
  multi: "Several graders and a formula",
  endpoint: "Your own endpoint",
  classifier: "Classifier checkpoint",
  reward_model: "Reward model checkpoint",
  reference_logprob: "Log-probability of the reference",
  program_tests: "Hidden tests of a program",
  ranking_judge: "Ranking by a judge",
};

/** A grader of a type with its required fields filled in as far as known. */
export function starter(type: string, of: Record<string, Node>, root: JsonSchema, hints: Hints): JsonObject {
  const node = of[type];
  const out: Record<string, Json> = { type };
  for (const key of node?.required ?? []) {
    const value = startOf(key, type, resolve(node?.properties?.[key] ?? {}, root), hints);
    if (value !== undefined) out[key] = value;
  }
  if (type === "multi") return { type, ...aroundOne(starter("string_check", of, root, hints), "exact") };
  return out;
}

const aroundOne = (part: JsonObject, name: string): JsonObject => ({
  graders: { [name]: part },
  calculate_output: name,
});

function startOf(key: string, type: string, node: Node, hints: Hints): Json | undefined {
  const reference = `{{ ${itemName(hints.answer ?? "answer")} }}`;
  if (node.enum) return node.enum[0];
  switch (key) {
    case "input":
      return node.type === "array" ? [{ role: "user", content: question(type, reference) }] : OUTPUT;
    case "reference":
      return reference;
    case "model":
      return ASKS_A_JUDGE.has(type) ? hints.judge : undefined;
    case "source":
      return firstPython(hints.answer);
    case "labels":
      return node.type === "array" ? ["right", "wrong"] : { positive: 1 };
    case "passing_labels":
      return ["right"];
    default:
      return undefined;
  }
}

const question = (type: string, reference: string) =>
  `${type === "label_model" ? "Is the answer right?" : "How right is the answer, from 0 to 1?"}\n\nReference: ${reference}\n\nAnswer: ${OUTPUT}`;

/**
 * Another type in a grader's place: fields of the same name and kind stay, and a multi is put around what was there.
 */
export function retyped(
  old: JsonObject,
  type: string,
  of: Record<string, Node>,
  root: JsonSchema,
  hints: Hints,
): JsonObject {
  const isKnownType = typeof old.type === "string" && of[old.type] !== undefined;
  if (type === "multi" && isKnownType && old.type !== "multi" && old.type !== "ranking_judge") {
    const name = /^[A-Za-z_]\w{0,63}$/.test(String(old.name ?? "")) ? String(old.name) : String(old.type);
    return { type, ...aroundOne(old, name) };
  }
  const fresh = starter(type, of, root, hints);
  const before = of[String(old.type)]?.properties ?? {};
  const entries = Object.entries(of[type]?.properties ?? {}).flatMap(([key, schema]): [string, Json][] => {
    const value = old[key];
    const alike = resolve(before[key] ?? {}, root).description === resolve(schema, root).description;
    const sameKind = typeof value === typeof fresh[key] && Array.isArray(value) === Array.isArray(fresh[key]);
    // A judge and a checkpoint are both a `model`.
    const byMeaning = key === "model" || fresh[key] === undefined;
    const stays = key === "name" || (byMeaning ? alike : sameKind && !resolve(schema, root).enum);
    return key !== "type" && value !== undefined && stays ? [[key, value]] : [];
  });
  return { ...fresh, ...Object.fromEntries(entries), type };
}

/** A multi with one more part; a formula that is a plain sum is extended. */
export function withPart(
  multi: JsonObject,
  of: Record<string, Node>,
  root: JsonSchema,
  hints: Hints,
): JsonObject {
  const parts = namedParts(multi.graders);
  const names = Object.keys(parts);
  const name = freeName(names.includes("exact") ? "similar" : "exact", names);
  const type = name.startsWith("similar") ? "text_similarity" : "string_check";
  const formula = multi.calculate_output;
  const sum = typeof formula === "string" && formula.replaceAll(" ", "") === names.join("+");
  return {
    ...multi,
    graders: { ...parts, [name]: starter(type, of, root, hints) },
    ...(sum && { calculate_output: `${formula} + ${name}` }),
  };
}

export const typesOf = (of: Record<string, Node>) =>
  Object.keys(of).map((value) => ({ value, label: `${TYPE_TITLES[value] ?? value} · ${value}` }));

/** A grader to begin with, before its schema is there. */
export const firstGrader = (answer: string | undefined): JsonObject => ({
  type: "string_check",
  input: OUTPUT,
  reference: `{{ ${itemName(answer ?? "answer")} }}`,
  operation: "eq",
});
