import { describe, expect, it } from "vitest";
import type { RewardTemplate } from "@/api/rewards";
import { reads, searchTemplates } from "./templates";

const one = (id: string, group: string, more: Partial<RewardTemplate> = {}): RewardTemplate => ({
  id,
  group,
  title: id.toUpperCase(),
  description: "Pays.",
  source: "",
  ...more,
});

const ALL = [
  one("exact", "Answers", { columns: ["answer"] }),
  one("numeric", "Answers", { description: "Numbers with units.", optional_columns: ["tolerance"] }),
  one("schema", "Form"),
];
const ids = (query: string) =>
  searchTemplates(ALL, query).flatMap(({ rewards }) => rewards.map(({ id }) => id));

describe("the ready rewards", () => {
  it("stand in their groups and order", () => {
    expect(searchTemplates(ALL, "").map(({ name, rewards }) => [name, rewards.length])).toEqual([
      ["Answers", 2],
      ["Form", 1],
    ]);
  });
  it("are searchTemplates by every word, in any field", () => {
    expect(ids("UNITS numbers")).toEqual(["numeric"]);
    expect(ids("answers")).toEqual(["exact", "numeric"]);
    expect(ids("tolerance")).toEqual(["numeric"]);
    expect(ids(" form ")).toEqual(["schema"]);
    expect(ids("units schema")).toEqual([]);
  });
  it("say which columns they read, and which the dataset lacks", () => {
    const [exact, numeric] = ALL as [RewardTemplate, RewardTemplate];
    expect(reads(numeric, ["answer"])).toBe("Uses no columns.");
    expect(reads(exact, ["answer"])).toBe("Uses “answer”.");
    expect(reads(exact, [])).toBe("Uses “answer”.");
    expect(reads(exact, ["label"])).toBe("Uses “answer”, not in the dataset.");
    expect(reads(exact, ["total", "answer"], "total")).toBe("Uses “answer”: here the column “total”.");
    expect(reads(exact, ["answer"], "answer")).toBe("Uses “answer”.");
  });
});
