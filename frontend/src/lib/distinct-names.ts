/** By id: the name, with the end of the id where several things have the same name. */
export function distinctNames(list: readonly { id: string; name: string }[]): ReadonlyMap<string, string> {
  const counts = new Map<string, number>();
  for (const { name } of list) counts.set(name, (counts.get(name) ?? 0) + 1);
  return new Map(
    list.map(({ id, name }) => [id, (counts.get(name) ?? 0) > 1 ? `${name} (…${id.slice(-4)})` : name]),
  );
}
