/** Word diff of two texts. `diff` comes when the first comparison is asked for. */
import { count } from "@/lib/format";

export type Change = { kind: "same" | "removed" | "added"; text: string };

/** A comparison that takes longer is given up: the texts have too little in common to be read as one. */
const TIMEOUT_MS = 800;

/** In reading order: joined without `added` they are `before`, without `removed` they are `after`. Null: given up. */
export async function compare(before: string, after: string): Promise<Change[] | null> {
  const { diffWordsWithSpace } = await import("diff");
  const changes = diffWordsWithSpace(before, after, { timeout: TIMEOUT_MS });
  if (!changes) return null;
  return changes.map(({ value, added, removed }) => ({
    kind: added ? "added" : removed ? "removed" : "same",
    text: value,
  }));
}

const words = (changes: readonly Change[], kind: Change["kind"]) =>
  changes
    .filter((change) => change.kind === kind)
    .reduce((sum, change) => sum + (change.text.match(/\S+/g)?.length ?? 0), 0);

/** `3 words removed, 2 words added, 14 unchanged`. */
export function tell(changes: readonly Change[]): string {
  const [removed, added, same] = [words(changes, "removed"), words(changes, "added"), words(changes, "same")];
  if (changes.every((change) => change.kind === "same")) return "The texts are equal.";
  return `${count(removed, "word")} removed, ${count(added, "word")} added, ${same} unchanged.`;
}
