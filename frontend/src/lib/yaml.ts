/** Writes plain JSON values as YAML, enough for a job specification. Reading YAML back is the server's affair. */

const PLAIN = /^[A-Za-z_][\w./@:+-]*(?<!:)$/;
const SPECIAL = new Set(["true", "false", "null", "yes", "no", "on", "off", "y", "n"]);

function text(value: string, indent: string): string {
  if (value.includes("\n")) {
    const keep = value.endsWith("\n") ? "|" : "|-";
    const lines = value.replace(/\n$/, "").split("\n");
    const body = lines.map((line) => (line === "" ? "" : `${indent}  ${line}`));
    return /^\s/.test(value) ? JSON.stringify(value) : `${keep}\n${body.join("\n")}`;
  }
  return PLAIN.test(value) && !SPECIAL.has(value.toLowerCase()) ? value : JSON.stringify(value);
}

function scalar(value: unknown, indent: string): string {
  return typeof value === "string" ? text(value, indent) : JSON.stringify(value);
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
  return Object.entries(value).flatMap(([key, item]) =>
    isBranch(item)
      ? [`${indent}${key}:`, ...lines(item, `${indent}  `)]
      : [`${indent}${key}: ${scalar(item, indent)}`],
  );
}

export function toYaml(value: object): string {
  return `${lines(value, "").join("\n")}\n`;
}
