/** Dotted paths into a JSON value, as the API writes them: `rewards[0].weight`. All functions leave their input alone. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** `rewards[0].weight` → `["rewards", 0, "weight"]`. */
export function parts(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map(([text, index]) => (index ? Number(index) : text));
}

export function join(path: string, part: string | number): string {
  if (typeof part === "number") return `${path}[${part}]`;
  return path === "" ? part : `${path}.${part}`;
}

/** The path without its last part; "" at the top. */
export const parent = (path: string) => path.replace(/(\.[^.[\]]+|\[\d+\]|^[^.[\]]+)$/, "");

export function getAt(value: Json | undefined, path: string): Json | undefined {
  let at: unknown = value;
  for (const part of parts(path)) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string | number, unknown>)[part];
  }
  return at as Json | undefined;
}

/** The value with `next` at `path`; missing objects on the way are made, missing array places are not skipped. */
export function setAt<T extends Json>(value: T, path: string, next: Json): T {
  const set = (at: Json | undefined, rest: (string | number)[]): Json => {
    const [part, ...more] = rest;
    if (part === undefined) return next;
    if (typeof part === "number") {
      const list = Array.isArray(at) ? [...at] : [];
      list[part] = set(list[part], more);
      return list;
    }
    const object = isObject(at) ? at : {};
    return { ...object, [part]: set(object[part], more) };
  };
  return set(value, parts(path)) as T;
}

/** The value without what is at `path`; objects that this leaves empty go too, array places close up. */
export function unsetAt<T extends Json>(value: T, path: string): T {
  const unset = (at: Json | undefined, rest: (string | number)[]): Json | undefined => {
    const [part, ...more] = rest;
    if (part === undefined) return undefined;
    if (Array.isArray(at)) {
      const inner = unset(at[part as number], more);
      if (inner !== undefined || more.length > 0) {
        return at.map((item, i) => (i === part ? (inner ?? {}) : item));
      }
      return at.filter((_, i) => i !== part);
    }
    if (!isObject(at) || !(part in at)) return at;
    const { [part]: old, ...others } = at;
    const inner = unset(old, more);
    if (inner !== undefined) return { ...others, [part]: inner };
    return Object.keys(others).length > 0 ? others : undefined;
  };
  return (unset(value, parts(path)) ?? {}) as T;
}

/** Whether two JSON values say the same, whatever the order of keys. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => same(item, b[i]));
  }
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && same(a[key], b[key]));
}
