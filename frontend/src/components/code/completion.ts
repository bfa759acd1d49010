/** What the editor offers while a reward or a prompt template is written. Pure: the editor adapts it. */

export type CodeColumn = { name: string; type: string };

export type Offer = {
  label: string;
  detail?: string;
  info?: string;
  /** Replaces the text from `from`; the label when absent. `#{}` marks where the caret goes. */
  insert?: string;
  kind: "column" | "key" | "function";
};
export type Offers = { from: number; offers: Offer[] };

const SAMPLE_KEYS: readonly (readonly [string, string])[] = [
  ["output_text", "completion text"],
  ["output_json", "completion parsed as JSON, or None"],
  ["output_tools", "tool calls in the completion"],
  ["choices", "completion in OpenAI's choices format"],
  ["judges", "judge results of the reward"],
];

const SIGNATURES: readonly Offer[] = [
  {
    label: "grade(sample, item)",
    detail: "one completion",
    info: 'The usual signature: sample["output_text"] is the completion, item is the dataset row.',
    insert: 'def grade(sample, item):\n    text = sample["output_text"]\n    return #{0.0}\n',
    kind: "function",
  },
  {
    label: "reward_fn(prompt, completion, example)",
    detail: "three strings",
    info: "example maps each column of the row to its text.",
    insert: "def reward_fn(prompt, completion, example):\n    return #{0.0}\n",
    kind: "function",
  },
  {
    label: "score(prompts, completions, **columns)",
    detail: "lists in, a list out",
    info: "Each dataset column is passed as a list under its name.",
    insert: "def score(prompts, completions, **columns):\n    return [#{0.0} for _ in completions]\n",
    kind: "function",
  },
];

const ROW = "(?:item|example|row)";
const quoted = (text: string) => JSON.stringify(text);

/**
 * Offers for Python at the caret: columns behind `item[`, `item.get(` and `item.` (which becomes a subscript: a row
 * is a dict), keys of `sample`, and the three signatures at the start of a line. Null where there is nothing to say.
 *
 * @param before the line up to the caret
 * @param after the line behind it
 */
export function offersForReward(
  before: string,
  after: string,
  columns: readonly CodeColumn[],
): Offers | null {
  const columnKey = before.match(new RegExp(`\\b${ROW}\\s*(?:\\[|\\.get\\()\\s*(["']?)(\\w*)$`));
  if (columnKey)
    return keys(
      before,
      after,
      columnKey,
      columns.map(({ name, type }) => [name, type] as const),
    );
  const sampleKey = before.match(/\bsample\s*(?:\[|\.get\()\s*(["']?)(\w*)$/);
  if (sampleKey) return keys(before, after, sampleKey, SAMPLE_KEYS, "key");
  const attribute = before.match(new RegExp(`\\b(${ROW}|sample)\\.(\\w*)$`));
  if (attribute) {
    const [, owner, typed = ""] = attribute;
    const pairs = owner === "sample" ? SAMPLE_KEYS : columns.map(({ name, type }) => [name, type] as const);
    const offers = pairs.map(
      ([name, detail]): Offer => ({
        label: `.${name}`,
        detail,
        insert: `[${quoted(name)}]`,
        kind: owner === "sample" ? "key" : "column",
      }),
    );
    return offers.length > 0 ? { from: before.length - typed.length - 1, offers } : null;
  }
  if (/^(?:d|de|def|def \w*)$/.test(before)) return { from: 0, offers: [...SIGNATURES] };
  return null;
}

function keys(
  before: string,
  after: string,
  [, quote = "", typed = ""]: RegExpMatchArray,
  pairs: readonly (readonly [string, string])[],
  kind: Offer["kind"] = "column",
): Offers | null {
  if (pairs.length === 0) return null;
  const closes = quote !== "" && after.startsWith(quote);
  const offers = pairs.map(([name, detail]): Offer => {
    const text = quote === "" ? quoted(name) : closes ? name : name + quote;
    return { label: name, detail, insert: text, kind };
  });
  return { from: before.length - typed.length, offers };
}

/** Column names behind an open `{` of a prompt template. */
export function offersForTemplate(
  before: string,
  after: string,
  columns: readonly CodeColumn[],
): Offers | null {
  const open = before.match(/(\{+)([^{}]*)$/);
  // `{{` is a brace, not the start of a placeholder.
  if (!open || (open[1] as string).length % 2 === 0) return null;
  const typed = open[2] as string;
  const close = after.startsWith("}") ? "" : "}";
  const offers = columns.map(
    ({ name, type }): Offer => ({
      label: name,
      detail: type,
      insert: name + close,
      kind: "column",
    }),
  );
  return offers.length > 0 ? { from: before.length - typed.length, offers } : null;
}
