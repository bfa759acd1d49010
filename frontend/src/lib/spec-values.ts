import type { Json, JsonObject } from "./paths";

/** A JSON value in a text field: words as they are, small numbers with an exponent. */
export function valueText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value === "number" && value !== 0 && Math.abs(value) < 1e-3) {
    return value.toExponential().replace(/e([+-])(\d)$/, "e$1$2");
  }
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return JSON.stringify(value);
}

/** The number that a text says; undefined for none at all, the text itself when it says no number. */
export function parseNumber(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const value = Number(trimmed.replace(/^(\d+),(\d+)$/, "$1.$2"));
  return Number.isFinite(value) ? value : trimmed;
}

export function toLines(value: JsonObject | undefined): string {
  return Object.entries(value ?? {})
    .map(([key, text]) => `${key}: ${String(text)}`)
    .join("\n");
}

/** `key: value` lines as an object; a line without a colon is a key with nothing yet. */
export function fromLines(text: string): JsonObject | undefined {
  const entries = text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const colon = line.indexOf(":");
      return colon < 0 ? [line.trim(), ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}
