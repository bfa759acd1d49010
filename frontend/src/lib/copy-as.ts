import { isObject, type Json, type JsonObject } from "./paths";
import { toYaml } from "./yaml";

export const FORMATS = ["yaml", "cli", "python", "curl"] as const;
export type Format = (typeof FORMATS)[number];

export type What = "job" | "sweep";

const COMMANDS: Record<What, string> = {
  job: "reinforge job create -f job.yaml --wait",
  sweep: "reinforge sweep sweep.yaml --wait",
};

/** A specification as what starts it from elsewhere. Every format carries it exactly; nothing is left to a shell. */
export function copyAs(format: Format, spec: JsonObject, what: What = "job"): string {
  if (format === "yaml") return toYaml(spec);
  if (format === "cli") return cli(spec, what);
  if (format === "python") return sdk(spec, what);
  return curl(spec, what);
}

/** A here-document without shell expansion, whatever the text contains. */
function document(text: string, name: string): [string, string] {
  const lines = new Set(text.split("\n"));
  let end = name;
  while (lines.has(end)) end += "_";
  return [`<<'${end}'`, `${text.replace(/\n$/, "")}\n${end}\n`];
}

function cli(spec: JsonObject, what: What): string {
  const [open, body] = document(toYaml(spec), "YAML");
  return `cat > ${what}.yaml ${open}\n${body}${COMMANDS[what]}\n`;
}

function curl(spec: JsonObject, what: What): string {
  const [open, body] = document(JSON.stringify(spec, null, 2), "JSON");
  return [
    `curl -sS "$REINFORGE_URL/api/v1/${what}s" \\`,
    '  -H "Authorization: Bearer $REINFORGE_API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  --data-binary @- ${open}`,
    body,
  ].join("\n");
}

function sdk(spec: JsonObject, what: What): string {
  return [
    "from reinforge.client import Reinforge",
    "",
    "client = Reinforge()  # REINFORGE_URL and REINFORGE_API_KEY",
    `${what} = client.${what}s.create(`,
    `    ${python(spec, "    ")}`,
    ")",
    `${what} = client.${what}s.wait(${what}.id)`,
    "",
  ].join("\n");
}

const WIDTH = 92;

/** A JSON value as a Python literal; texts of several lines one line each. */
export function python(value: Json, indent = ""): string {
  const flat = inline(value);
  if (flat !== null && flat.length + indent.length <= WIDTH) return flat;
  const deeper = `${indent}    `;
  if (typeof value === "string") {
    const lines = value.split(/(?<=\n)/).map((line) => `${deeper}${JSON.stringify(line)}`);
    return `(\n${lines.join("\n")}\n${indent})`;
  }
  if (Array.isArray(value)) {
    return `[\n${value.map((item) => `${deeper}${python(item, deeper)},`).join("\n")}\n${indent}]`;
  }
  const entries = Object.entries(value as JsonObject);
  const lines = entries.map(([key, item]) => `${deeper}${JSON.stringify(key)}: ${python(item, deeper)},`);
  return `{\n${lines.join("\n")}\n${indent}}`;
}

/** On one line, or null when a text in it has several. */
function inline(value: Json): string | null {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "string") return /\n./s.test(value) ? null : JSON.stringify(value);
  if (typeof value === "number") return String(value);
  const items = isObject(value)
    ? Object.entries(value).map(([key, item]) => [JSON.stringify(key), inline(item)] as const)
    : value.map((item) => [null, inline(item)] as const);
  if (items.some(([, text]) => text === null)) return null;
  const body = items.map(([key, text]) => (key === null ? text : `${key}: ${text}`)).join(", ");
  return isObject(value) ? `{${body}}` : `[${body}]`;
}
