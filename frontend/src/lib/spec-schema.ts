import { getAt, isObject, type Json, type JsonObject, same } from "./paths";

/** As much of JSON Schema as pydantic writes for `JobSpec`. */
export type JsonSchema = {
  $ref?: string;
  $defs?: Record<string, JsonSchema>;
  type?: string;
  const?: Json;
  enum?: Json[];
  anyOf?: JsonSchema[];
  oneOf?: JsonSchema[];
  discriminator?: { propertyName: string; mapping: Record<string, string> };
  properties?: Record<string, JsonSchema>;
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  prefixItems?: JsonSchema[];
  required?: string[];
  default?: Json;
  description?: string;
  title?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  pattern?: string;
};

/** A node with its reference followed and `null` taken out of its alternatives. */
export type Node = JsonSchema & { nullable: boolean };

/** The node of a schema; siblings of a `$ref` override its target. */
export function resolve(schema: JsonSchema, root: JsonSchema): Node {
  let node: JsonSchema = schema;
  let nullable = false;
  for (;;) {
    if (node.$ref) {
      const { $ref, ...own } = node;
      node = { ...root.$defs?.[$ref.split("/").at(-1) as string], ...own };
      continue;
    }
    const rest = node.anyOf?.filter((option) => option.type !== "null");
    if (node.anyOf && rest && rest.length < node.anyOf.length) nullable = true;
    if (rest?.length === 1) {
      const { anyOf: _, ...own } = node;
      node = { ...rest[0], ...own };
      continue;
    }
    return { ...node, ...(rest && { anyOf: rest }), nullable };
  }
}

/** The variants of a tagged part by tag, or null when the node is none. */
export function variants(node: Node, root: JsonSchema): { tag: string; of: Record<string, Node> } | null {
  if (!node.discriminator) return null;
  const { propertyName: tag, mapping } = node.discriminator;
  // In the order of the alternatives: the mapping is sorted by name.
  const order = node.oneOf?.map((option) => option.$ref) ?? [];
  const named = Object.entries(mapping).sort(([, a], [, b]) => order.indexOf(a) - order.indexOf(b));
  return { tag, of: Object.fromEntries(named.map(([name, $ref]) => [name, resolve({ $ref }, root)])) };
}

/** What a part is when nothing is said about it; undefined for what must be given. */
export function defaultOf(schema: JsonSchema, root: JsonSchema): Json | undefined {
  const node = resolve(schema, root);
  if (node.default !== undefined) return node.default;
  if (node.type === "array" && !node.items?.discriminator) return [];
  if (!node.properties) return node.additionalProperties ? {} : undefined;
  return objectDefault(node, root);
}

function objectDefault(node: Node, root: JsonSchema): JsonObject {
  const out: Record<string, Json> = {};
  for (const [key, schema] of Object.entries(node.properties ?? {})) {
    const value = defaultOf(schema, root);
    if (value !== undefined) out[key] = value;
  }
  return out;
}

/** `over` laid upon `base`; a tagged part of another type replaces it whole. */
export function merge(base: Json | undefined, over: Json | undefined): Json | undefined {
  if (over === undefined) return base;
  if (!isObject(base) || !isObject(over)) return over;
  if (over.type !== undefined && base.type !== undefined && over.type !== base.type) return over;
  const out: Record<string, Json> = { ...base };
  for (const [key, value] of Object.entries(over)) out[key] = merge(base[key], value) as Json;
  return out;
}

/** Contents of each preset, by id: the whole `algorithm`, and other parts of a specification that it fills. */
export type Presets = Record<string, JsonObject>;

/** Every default of a specification whose algorithm starts from the preset that `spec` names. */
export function defaults(root: JsonSchema, presets: Presets, spec: JsonObject): JsonObject {
  const plain = objectDefault(resolve(root, root), root);
  const presetName = getAt(spec, "algorithm.preset");
  const named = presetName === undefined ? getAt(plain, "algorithm.preset") : presetName;
  const preset = typeof named === "string" ? presets[named] : undefined;
  if (named === null) return merge(plain, { algorithm: { preset: null } }) as JsonObject;
  if (!preset) return plain;
  const { algorithm, ...job } = preset;
  return {
    ...(merge(plain, job) as JsonObject),
    algorithm: { ...(algorithm as JsonObject), preset: named as string },
  };
}

/**
 * Only what differs from the defaults, and what must be given. A tagged part keeps its `type` when anything of it
 * is left, so that it can be read by itself.
 */
export function pruned(root: JsonSchema, presets: Presets, spec: JsonObject): JsonObject {
  const base = defaults(root, presets, spec);
  const plain = objectDefault(resolve(root, root), root);
  const out = { ...((prune(root, spec, base, root) as JsonObject | undefined) ?? {}) } as Record<
    string,
    Json
  >;
  const preset = getAt(spec, "algorithm.preset");
  if (preset !== undefined && preset !== getAt(plain, "algorithm.preset")) {
    out.algorithm = { preset, ...(out.algorithm as JsonObject | undefined) };
  }
  return out;
}

function prune(schema: JsonSchema, value: Json, base: Json | undefined, root: JsonSchema): Json | undefined {
  const node = resolve(schema, root);
  const tagged = variants(node, root);
  if (tagged && isObject(value)) {
    const type = (value[tagged.tag] ?? (base as JsonObject | undefined)?.[tagged.tag]) as string;
    const variant = tagged.of[type];
    if (!variant) return value;
    const sameType = isObject(base) && base[tagged.tag] === type;
    const left = prune(variant, value, sameType ? base : objectDefault(variant, root), root);
    if (left === undefined && sameType) return undefined;
    const { [tagged.tag]: _, ...others } = (left ?? {}) as Record<string, Json>;
    return { [tagged.tag]: type, ...others };
  }
  if (node.properties && isObject(value)) {
    const out: Record<string, Json> = {};
    for (const [key, item] of inOrder(node, value)) {
      const inner = node.properties[key];
      const left = inner ? prune(inner, item, (base as JsonObject | undefined)?.[key], root) : item;
      if (left !== undefined) out[key] = left;
    }
    return Object.keys(out).length > 0 ? out : undefined;
  }
  if (Array.isArray(value) && node.items) {
    const items = node.items;
    if (same(value, base)) return undefined;
    return value.map((item) => prune(items, item, undefined, root) ?? item);
  }
  return same(value, base) ? undefined : value;
}

/** The entries of an object in the schema's order, which is the one people know; what it does not know comes last. */
function inOrder(node: Node, value: JsonObject): [string, Json][] {
  const order = Object.keys(node.properties ?? {});
  const place = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.entries(value).sort(([a], [b]) => place(a) - place(b));
}

/** The same specification with its keys in the schema's order: a database does not keep one. */
export function ordered(root: JsonSchema, spec: JsonObject): JsonObject {
  return order(root, spec, root) as JsonObject;
}

function order(schema: JsonSchema, value: Json, root: JsonSchema): Json {
  const node = resolve(schema, root);
  if (Array.isArray(value)) {
    const { items } = node;
    return items ? value.map((item) => order(items, item, root)) : value;
  }
  if (!isObject(value)) return value;
  const tagged = variants(node, root);
  const shape = tagged ? tagged.of[String(value[tagged.tag])] : node;
  if (!shape?.properties) return value;
  return Object.fromEntries(
    inOrder(shape, value).map(([key, item]) => [key, order(shape.properties?.[key] ?? {}, item, root)]),
  );
}
