/** Writes plain JSON values as YAML, enough for a job specification. Reading YAML back is the server's affair. */

const PLAIN = /^[A-Za-z_][\w./@:+-]*(?<!:)$/;
const SPECIAL = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

/** What YAML readers refuse or change when it stands raw: controls, and line breaks other than `\n`. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;

/** A double-quoted scalar: JSON's, with everything unsafe escaped. */
const quoted = (value: string) =>
  JSON.stringify(value).replace(
    new RegExp(UNSAFE, "g"),
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

const plain = (value: string) => PLAIN.test(value) && !SPECIAL.has(value.toLowerCase());

/** Source code and templates are readable as a block; what a block would change is quoted. */
function text(value: string, indent: string): string {
  if (!value.includes("\n") || /^\s|\n\n$/.test(value) || UNSAFE.test(value)) {
    return plain(value) ? value : quoted(value);
  }
  const lines = value.replace(/\n$/, "").split("\n");
  const body = lines.map((line) => (line === "" ? "" : `${indent}  ${line}`));
  return `${value.endsWith("\n") ? "|" : "|-"}\n${body.join("\n")}`;
}

function scalar(value: unknown, indent: string): string {
  if (typeof value === "string") return text(value, indent);
  // YAML 1.1 reads an exponent without a point as text.
  return JSON.stringify(value).replace(/^(-?\d+)(e[+-]\d+)$/, "$1.0$2");
}

const isBranch = (value: unknown): value is object =>
  typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** Every line of a mapping or list at `indent`. */
function lines(value: object, indent: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item) => {
      if (!isBranch(item)) return [`${indent}- ${scalar(item, indent)}`];
      const [head, ...rest] = lines(item, `${indent}  `);
      return [`${indent}- ${head?.trimStart()}`, ...rest];
    });
  }
  return Object.entries(value).flatMap(([name, item]) => {
    const key = plain(name) ? name : quoted(name);
    return isBranch(item)
      ? [`${indent}${key}:`, ...lines(item, `${indent}  `)]
      : [`${indent}${key}: ${scalar(item, indent)}`];
  });
}

export function toYaml(value: object): string {
  return `${lines(value, "").join("\n")}\n`;
}
