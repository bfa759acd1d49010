import { describe, expect, it } from "vitest";
import { compare, tell } from "./diff";

const BEFORE = "<think>7+5=12</think> <answer>122</answer>";
const AFTER = "<think>7+5=12, carry 1</think> <answer>132</answer>";

async function changes(before: string, after: string) {
  const diff = await compare(before, after);
  if (!diff) throw new Error("given up");
  return diff;
}

describe("a word diff", () => {
  it("has both texts in it", async () => {
    const diff = await changes(BEFORE, AFTER);
    const without = (kind: string) =>
      diff
        .filter((change) => change.kind !== kind)
        .map((change) => change.text)
        .join("");
    expect(without("added")).toBe(BEFORE);
    expect(without("removed")).toBe(AFTER);
    expect(diff.filter((change) => change.kind === "removed").map((change) => change.text)).toEqual(["122"]);
  });

  it("takes a tag as a whole", async () => {
    const diff = await changes("<answer>75</answer>", "<think>7+5</think><answer>75</answer>");
    expect(diff).toEqual([
      { kind: "added", text: "<think>7+5</think>" },
      { kind: "same", text: "<answer>75</answer>" },
    ]);
  });

  it("is told in words", async () => {
    expect(tell(await changes("a b c", "a x c d"))).toBe("1 word removed, 2 words added, 2 unchanged.");
    expect(tell(await changes(AFTER, AFTER))).toBe("The texts are identical.");
    expect(tell(await changes("", ""))).toBe("The texts are identical.");
  });
});
