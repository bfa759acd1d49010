import { getAt, type Json, type JsonObject, same } from "@/lib/paths";
import { type Field, fieldsOf } from "@/lib/spec-fields";
import { defaults, type JsonSchema, type Presets } from "@/lib/spec-schema";
import { yamlLines } from "@/lib/yaml";

/** `given`: somebody set it to something else than the default. `filled`: the server found it: nobody set it, or it was
 * set to `auto`. */
export type Mark = "given" | "filled" | null;
export type MarkedLine = { text: string; mark: Mark; was: string | null };

export type Basis = { schema: JsonSchema; presets: Presets };

const pathOf = (field: Field) => (field.kind === "variant" ? `${field.path}.type` : field.path);

/** The lines of a specification in YAML, those that differ from the defaults marked with what the default is. */
export function markedLines(spec: JsonObject, submitted: JsonObject, basis: Basis | undefined): MarkedLine[] {
  const different = new Map<string, { mark: Mark; was: Json | undefined }>();
  if (basis) {
    const base = defaults(basis.schema, basis.presets, spec);
    for (const field of fieldsOf(basis.schema, spec, base)) {
      if (field.kind === "fixed" || field.value === undefined || same(field.value, field.fallback)) continue;
      const path = pathOf(field);
      const value = getAt(submitted, path);
      const mark = value === undefined || value === "auto" ? "filled" : "given";
      different.set(path, { mark, was: field.required ? undefined : field.fallback });
    }
  }
  return yamlLines(spec).map(({ text, path }) => {
    const own = different.get(path) ?? different.get(path.replace(/\[\d+\]$/, ""));
    const was = different.get(path)?.was;
    return { text, mark: own?.mark ?? null, was: was === undefined ? null : JSON.stringify(was) };
  });
}

/** Nested facts as rows: `versions.torch` and its value. */
export function flat(value: object, path = ""): [string, string][] {
  return Object.entries(value).flatMap(([key, item]): [string, string][] => {
    const name = path ? `${path}.${key}` : key;
    if (typeof item === "object" && item !== null && !Array.isArray(item)) return flat(item, name);
    return [[name, typeof item === "string" ? item : JSON.stringify(item)]];
  });
}
