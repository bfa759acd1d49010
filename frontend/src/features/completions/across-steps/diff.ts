/** Word diff of two texts. `diff` is loaded with the first comparison. */
import { count } from "@/lib/format";

export type Change = { kind: "same" | "removed" | "added"; text: string };

/** A comparison that takes longer is given up: the texts have too little in common to be read as one. */
const TIMEOUT_MS = 800;

const OPENS = /[<([{"'`]+$/;

/**
 * A change that begins after an opening mark and ends with the same mark is moved to begin with it: `<think>…` was
 * added, not `think>…<`. Both texts stay what they are.
 */
export function settle(changes: readonly Change[]): Change[] {
  const merged = changes.map((change) => ({ ...change }));
  merged.forEach((change, i) => {
    const [before, after] = [merged[i - 1], merged[i + 1]];
    if (change.kind === "same" || before?.kind !== "same" || after?.kind !== "same") return;
    const mark = OPENS.exec(before.text)?.[0] ?? "";
    if (mark === "" || !change.text.endsWith(mark)) return;
    before.text = before.text.slice(0, -mark.length);
    change.text = mark + change.text.slice(0, -mark.length);
    after.text = mark + after.text;
  });
  return merged.filter((change) => change.text !== "");
}

/** In reading order: joined without `added` they are `before`, without `removed` they are `after`. Null: given up. */
export async function compare(before: string, after: string): Promise<Change[] | null> {
  const { diffWordsWithSpace } = await import("diff");
  const changes = diffWordsWithSpace(before, after, { timeout: TIMEOUT_MS });
  if (!changes) return null;
  return settle(
    changes.map(({ value, added, removed }) => ({
      kind: added ? "added" : removed ? "removed" : "same",
      text: value,
    })),
  );
}

const words = (changes: readonly Change[], kind: Change["kind"]) =>
  changes
    .filter((change) => change.kind === kind)
    .reduce((sum, change) => sum + (change.text.match(/\S+/g)?.length ?? 0), 0);

/** `3 words removed, 2 words added, 14 unchanged`. */
export function tell(changes: readonly Change[]): string {
  const [removed, added, same] = [words(changes, "removed"), words(changes, "added"), words(changes, "same")];
  if (changes.every((change) => change.kind === "same")) return "The texts are identical.";
  return `${count(removed, "word")} removed, ${count(added, "word")} added, ${same} unchanged.`;
}
