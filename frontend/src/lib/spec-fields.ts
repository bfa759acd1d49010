import { isObject, type Json, type JsonObject, join, parts, setAt, unsetAt } from "./paths";
import { defaultOf, type JsonSchema, type Node, resolve, variants } from "./spec-schema";

export type FieldKind =
  | "integer"
  | "number"
  | "text"
  | "boolean"
  | "choice"
  /** One of several shapes, chosen by `type`; the chosen one's fields follow. */
  | "variant"
  | "list"
  | "tuple"
  | "map"
  /** A word, or a list of words. */
  | "word_or_list"
  /** A word, or a number. */
  | "word_or_number"
  /** Only one value is possible. */
  | "fixed";

export type Field = {
  path: string;
  kind: FieldKind;
  label: string;
  description: string;
  required: boolean;
  nullable: boolean;
  /** As given; undefined when it is left to the default. */
  value: Json | undefined;
  fallback: Json | undefined;
  options: { value: string; description: string }[];
  /** Of the value, or of each item. */
  bounds: Pick<JsonSchema, "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum">;
  whole: boolean;
  /** Texts of several lines are expected. */
  long: boolean;
  /** Tags that must stand beside the value for the server to know the variant: path and type. */
  tags: [string, string][];
};

/** `max_prompt_tokens` → `Max prompt tokens`. */
export function label(path: string): string {
  const key = String(parts(path).findLast((part) => typeof part === "string") ?? path);
  const text = key.replaceAll("_", " ").replace(/\bkl\b/, "KL");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A field's path and its problem. */
export type FieldPlace = {
  path: string;
  value: Json | undefined;
  fallback: Json | undefined;
  required: boolean;
  tags: [string, string][];
};

/** Every field of a specification, in the schema's order; of tagged parts the chosen variant's. */
export function fieldsOf(root: JsonSchema, spec: JsonObject, base: JsonObject): Field[] {
  return inside(
    resolve(root, root),
    { path: "", value: spec, fallback: base, required: true, tags: [] },
    root,
  );
}

const at = (value: Json | undefined, key: string) => (isObject(value) ? value[key] : undefined);

/** The fields of an object, but not the tag that says which variant it is. */
function inside(node: Node, place: FieldPlace, root: JsonSchema, tag?: string): Field[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, schema]) =>
    key === tag
      ? []
      : walk(
          schema,
          {
            path: join(place.path, key),
            value: at(place.value, key),
            fallback: at(place.fallback, key),
            required: node.required?.includes(key) ?? false,
            tags: place.tags,
          },
          root,
        ),
  );
}

function walk(schema: JsonSchema, place: FieldPlace, root: JsonSchema): Field[] {
  const node = resolve(schema, root);
  if (node.discriminator) return variant(node, place, root);
  if (node.properties) return inside(node, place, root);
  const items = node.items && resolve(node.items, root);
  if (items && (items.discriminator || items.properties)) {
    const list = Array.isArray(place.value) ? place.value : [];
    return list.flatMap((value, i) =>
      walk(items, { ...place, path: join(place.path, i), value, fallback: undefined }, root),
    );
  }
  return [leaf(node, place)];
}

function variant(node: Node, place: FieldPlace, root: JsonSchema): Field[] {
  const { tag, of } = variants(node, root) as NonNullable<ReturnType<typeof variants>>;
  const names = Object.keys(of);
  const own = at(place.fallback, tag);
  const type = String(at(place.value, tag) ?? own ?? names[0]);
  const chosen = of[type];
  const fallback = own === type ? place.fallback : chosen && defaultOf(chosen, root);
  const head: Field = {
    ...blank(node, place, names.length > 1 ? "variant" : "fixed"),
    description: node.description ?? "",
    value: at(place.value, tag),
    fallback: own ?? names[0],
    options: names.map((value) => ({ value, description: of[value]?.description ?? "" })),
  };
  if (!chosen) return [head];
  const tags: [string, string][] = [...place.tags, [place.path, type]];
  return [head, ...inside(chosen, { ...place, fallback, tags }, root, tag)];
}

function blank(node: Node, place: FieldPlace, kind: FieldKind): Field {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = node;
  return {
    path: place.path,
    kind,
    label: label(place.path),
    description: node.description ?? "",
    required: place.required,
    nullable: node.nullable,
    value: place.value,
    fallback: place.fallback,
    options: [],
    bounds: { minimum, maximum, exclusiveMinimum, exclusiveMaximum },
    whole: node.type === "integer",
    long: (node.maxLength ?? 0) > 1000,
    tags: place.tags,
  };
}

const words = (values: readonly Json[]) => values.map((value) => ({ value: String(value), description: "" }));

/** The field of a node that has no fields inside. */
export function leaf(node: Node, place: FieldPlace): Field {
  const field = (kind: FieldKind, more: Partial<Field> = {}) => ({ ...blank(node, place, kind), ...more });
  if (node.const !== undefined) return field("fixed", { options: words([node.const]) });
  if (node.enum) return field(node.enum.length > 1 ? "choice" : "fixed", { options: words(node.enum) });
  const word = node.anyOf?.find((option) => option.const !== undefined)?.const;
  if (word !== undefined) {
    const number = node.anyOf?.find((option) => option.type === "number");
    if (!number) return field("word_or_list", { options: words([word]) });
    const { bounds } = blank({ ...number, nullable: false }, place, "number");
    return field("word_or_number", { options: words([word]), bounds });
  }
  if (node.prefixItems) {
    const [first] = node.prefixItems;
    return {
      ...blank({ ...node, ...first, nullable: node.nullable }, place, "tuple"),
      description: node.description ?? "",
    };
  }
  if (node.type === "array") return field("list");
  if (node.type === "object") return field("map");
  if (node.type === "integer" || node.type === "number" || node.type === "boolean") return field(node.type);
  return field("text");
}

/** The specification with the field at `value`; undefined leaves it to the default. */
export function assign(spec: JsonObject, field: Field, value: Json | undefined): JsonObject {
  const path = field.kind === "variant" ? join(field.path, "type") : field.path;
  if (value === undefined) {
    return field.kind === "variant" ? unsetAt(spec, field.path) : unsetAt(spec, path);
  }
  // Another variant has other fields: those of the old one go.
  let next = field.kind === "variant" ? setAt(spec, field.path, { type: value }) : setAt(spec, path, value);
  for (const [tagged, type] of field.tags) next = setAt(next, join(tagged, "type"), type);
  return next;
}

const finite = (value: Json | undefined): value is number =>
  typeof value === "number" && Number.isFinite(value);

/** The problem of a value in the words of the form; null if none is visible here. */
export function complaint(field: Field): string | null {
  const { value, kind } = field;
  if (value === undefined || value === null) return null;
  if (kind === "tuple" && Array.isArray(value)) {
    return value.map((item) => outside(field, item)).find((text) => text !== null) ?? null;
  }
  if (kind === "word_or_number") {
    const { value: word } = field.options[0] ?? { value: "" };
    if (value === word) return null;
    return typeof value === "number" ? outside(field, value) : `Type a number, or ${word}.`;
  }
  return kind === "integer" || kind === "number" ? outside(field, value) : null;
}

function outside(field: Field, value: Json): string | null {
  if (!finite(value)) return "Not a number.";
  if (field.whole && !Number.isInteger(value)) return "Enter a whole number.";
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = field.bounds;
  const bad =
    (minimum !== undefined && value < minimum) ||
    (maximum !== undefined && value > maximum) ||
    (exclusiveMinimum !== undefined && value <= exclusiveMinimum) ||
    (exclusiveMaximum !== undefined && value >= exclusiveMaximum);
  return bad ? `Allowed range: ${range(field)}.` : null;
}

/** `1 to 64`, `above 0, at most 1`; "" without bounds. */
export function range({ bounds }: Pick<Field, "bounds">): string {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = bounds;
  if (minimum !== undefined && maximum !== undefined) return `${minimum} to ${maximum}`;
  return [
    minimum !== undefined && `at least ${minimum}`,
    exclusiveMinimum !== undefined && `above ${exclusiveMinimum}`,
    maximum !== undefined && `at most ${maximum}`,
    exclusiveMaximum !== undefined && `below ${exclusiveMaximum}`,
  ]
    .filter(Boolean)
    .join(", ");
}
