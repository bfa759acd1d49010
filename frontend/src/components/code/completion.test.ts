import { describe, expect, it } from "vitest";
import { offersForReward, offersForTemplate } from "./completion";

const columns = [
  { name: "answer", type: "string" },
  { name: "a", type: "integer" },
];

/** Offers at the `|` of a line. */
function at(line: string, offer = offersForReward) {
  const [before = "", after = ""] = line.split("|");
  const result = offer(before, after, columns);
  return result && { from: result.from, inserts: result.offers.map((one) => one.insert) };
}

describe("offersForReward", () => {
  it("offers the dataset's columns as keys of a row, with the quotes that are missing", () => {
    expect(at("    x = item[|")).toEqual({ from: 13, inserts: ['"answer"', '"a"'] });
    expect(at('    x = item["an|"]')).toEqual({ from: 14, inserts: ["answer", "a"] });
    expect(at("item['|")).toEqual({ from: 6, inserts: ["answer'", "a'"] });
    expect(at('example.get("|')).toEqual({ from: 13, inserts: ['answer"', 'a"'] });
  });

  it("turns item.answer into a subscript, because a row is a dict", () => {
    expect(at("return item.an|")).toEqual({ from: 11, inserts: ['["answer"]', '["a"]'] });
  });

  it("offers the keys of a sample, not columns", () => {
    expect(at('sample["out|')?.inserts[0]).toBe('output_text"');
    expect(at("sample.|")?.inserts[0]).toBe('["output_text"]');
  });

  it("offers the three signatures where a function begins", () => {
    const result = at("de|");
    expect(result?.from).toBe(0);
    expect(result?.inserts.map((text) => text?.split("(")[0])).toEqual([
      "def grade",
      "def reward_fn",
      "def score",
    ]);
    expect(at("    def |")).toBeNull();
  });

  it("leaves other names and strings to Python", () => {
    expect(at("items[|")).toBeNull();
    expect(at("text.|")).toBeNull();
    expect(at("return 1.|")).toBeNull();
  });

  it("has nothing to offer without a dataset", () => {
    expect(offersForReward("item[", "", [])).toBeNull();
  });
});

describe("offersForTemplate", () => {
  it("offers columns behind an open brace and closes it", () => {
    expect(at("Q: {|", offersForTemplate)).toEqual({ from: 4, inserts: ["answer}", "a}"] });
    expect(at("Q: {an|}", offersForTemplate)).toEqual({ from: 4, inserts: ["answer", "a"] });
  });

  it("leaves doubled braces alone", () => {
    expect(at("\\boxed{{|", offersForTemplate)).toBeNull();
    expect(at("\\boxed{{{|", offersForTemplate)?.inserts[0]).toBe("answer}");
    expect(at("{a} and |", offersForTemplate)).toBeNull();
  });
});
