import { join } from "./paths";

/**
 * Writes JSON values as YAML, enough for a job specification, with the path of every line, which the library
 * `yaml` does not return. The server reads YAML.
 */

const PLAIN = /^[A-Za-z_][\w./@:+-]*(?<!:)$/;
const SPECIAL = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

/** Characters that YAML readers reject or change: controls, and line breaks other than `\n`. */
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

/** One line of the document, or a block of several, with the path of the value that it writes. */
export type YamlLine = { text: string; path: string };

/** Every line of a mapping or list at `indent`. */
function lines(value: object, indent: string, path: string): YamlLine[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => {
      const here = join(path, i);
      if (!isBranch(item)) return [{ text: `${indent}- ${scalar(item, indent)}`, path: here }];
      const [head, ...rest] = lines(item, `${indent}  `, here);
      return head ? [{ ...head, text: `${indent}- ${head.text.trimStart()}` }, ...rest] : [];
    });
  }
  return Object.entries(value).flatMap(([name, item]) => {
    const key = plain(name) ? name : quoted(name);
    const here = join(path, name);
    return isBranch(item)
      ? [{ text: `${indent}${key}:`, path: here }, ...lines(item, `${indent}  `, here)]
      : [{ text: `${indent}${key}: ${scalar(item, indent)}`, path: here }];
  });
}

export const yamlLines = (value: object): YamlLine[] => lines(value, "", "");

export function toYaml(value: object): string {
  return `${yamlLines(value)
    .map((line) => line.text)
    .join("\n")}\n`;
}
