import { describe, expect, it } from "vitest";
import type { Completion, GroupHead } from "@/api/completions";
import { dots, judge, onlyThese, opening, rewardScale, sortCompletions, spread, stacksOf } from "./groups";

const head = (prompt_no: number, rewards: (number | null)[]): GroupHead => ({
  prompt_no,
  prompt_hash: `h${prompt_no}`,
  row_index: prompt_no,
  prompt: "",
  rewards,
});

const GROUPS = [
  head(0, [1, 1, null]),
  head(1, [0, 0]),
  head(2, [0, 1, 0.5]),
  head(3, [null]),
  head(4, [0.3, 0.3]),
  head(5, [-1, -1]),
].map(judge);

describe("a group", () => {
  it("says whether it can teach, leaving out completions without a reward", () => {
    expect(GROUPS.map((group) => group.kind)).toEqual([
      "equal > 0",
      "equal ≤ 0",
      "mixed",
      "no reward",
      "equal > 0",
      "equal ≤ 0",
    ]);
  });

  it("has the smallest, mean and largest reward", () => {
    expect(GROUPS.map(({ low, mean, high }) => [low, mean, high])).toEqual([
      [1, 1, 1],
      [0, 0, 0],
      [0, 0.5, 1],
      [null, null, null],
      [0.3, 0.3, 0.3],
      [-1, -1, -1],
    ]);
  });

  it("is found by what it is", () => {
    const numbers = (only: Parameters<typeof onlyThese>[1]) =>
      onlyThese(GROUPS, only).map((g) => g.prompt_no);
    expect(numbers("all")).toEqual([0, 1, 2, 3, 4, 5]);
    expect(numbers("signal")).toEqual([2]);
    expect(numbers("right")).toEqual([0, 4]);
    expect(numbers("wrong")).toEqual([1, 5]);
  });
});

describe("the strip of rewards", () => {
  it("has a scale that always has a width and contains 0", () => {
    expect(rewardScale(GROUPS)).toEqual([-1, 1]);
    expect(rewardScale([])).toEqual([0, 1]);
    expect(rewardScale([judge(head(0, [0.2]))])).toEqual([0, 1]);
    expect(rewardScale([judge(head(0, [5, 7]))])).toEqual([0, 7]);
    expect(rewardScale([judge(head(0, [-3, -2]))])).toEqual([-3, 0]);
  });

  it("puts equal rewards on one dot and leaves missing ones out", () => {
    expect(dots([0, 0, 1, null], [0, 1])).toEqual([
      { at: 0, share: 0.5 },
      { at: 1, share: 0.25 },
    ]);
  });
});

describe("the order of completions", () => {
  const row = (sample_no: number, reward: number | null, length: number, advantage: number | null = null) =>
    ({ sample_no, reward, length, advantage }) as Completion;
  const rows = [row(2, 1, 5, 0.7), row(0, 0, 9, -0.7), row(3, null, 7), row(1, 1, 5, 0.7)];
  const numbers = (sort: Parameters<typeof sortCompletions>[1]) =>
    sortCompletions(rows, sort).map((one) => one.sample_no);

  it("puts those without a value last and equals as they were sampled", () => {
    expect(numbers("advantage")).toEqual([1, 2, 0, 3]);
    expect(numbers("reward")).toEqual([1, 2, 0, 3]);
    expect(numbers("length")).toEqual([0, 3, 1, 2]);
    expect(numbers("sampled")).toEqual([0, 1, 2, 3]);
  });
});

describe("opening", () => {
  it("is on the worst mixed group, else on the worst", () => {
    const easy = judge(head(6, [1, 1, 0]));
    expect(opening([easy, ...GROUPS])?.prompt_no).toBe(2);
    expect(opening([easy])?.prompt_no).toBe(6);
    const equal = GROUPS.filter(({ kind }) => kind !== "mixed");
    expect(opening(equal)?.prompt_no).toBe(3);
    expect(opening(equal.filter(({ mean }) => mean !== null))?.prompt_no).toBe(5);
    expect(opening([])).toBeUndefined();
  });
});

describe("stacksOf", () => {
  const row = (sample_no: number, text: string, reward = 1) =>
    ({ sample_no, text, reward, advantage: 0, error: null, finish_reason: "stop" }) as Completion;
  const rows = [row(0, "a"), row(1, "b"), row(2, "a"), row(3, "a", 0), row(4, "a")];
  const numbers = (open?: number) =>
    stacksOf(rows, open).map(({ row: { sample_no }, copies }) => [sample_no, copies.length]);

  it("puts equal texts together if they have the same reward", () => {
    expect(numbers()).toEqual([
      [0, 3],
      [1, 1],
      [3, 1],
    ]);
  });

  it("shows the open completion for its text", () => {
    expect(numbers(4)[0]).toEqual([4, 3]);
  });
});

describe("spread", () => {
  it("says mean and number of right completions, or the range", () => {
    expect(GROUPS.map(spread)).toEqual(["1", "0", "0.5 (0–1)", "–", "0.3", "−1"]);
    expect(spread(judge(head(7, [1, 0, 1, 1, 0, 1, 1, 0])))).toBe("0.63 (5 of 8)");
  });
});
