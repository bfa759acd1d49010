import { expect, it } from "vitest";
import type { Job } from "@/api/jobs";
import { carriedWords, labels, treeLines } from "./family-tree";

const job = (id: string, from?: [string, number], name = id): Job => ({
  id,
  name,
  project: "default",
  status: "running",
  progress: { step: 0, steps: 9, percent: 0 },
  attempt: 1,
  model: "tiny",
  dataset: "file-1",
  reward_names: ["right"],
  created_at: "2026-01-01T00:00:00Z",
  forked_from: from ? { job: from[0], step: from[1], carried: ["weights"] } : null,
});

it("puts forks below what they go on from, by step", () => {
  const jobs = [job("a"), job("b", ["a", 9]), job("c", ["a", 4]), job("d", ["b", 10])];
  expect(treeLines(jobs).map(({ job: { id }, depth }) => [id, depth])).toEqual([
    ["a", 0],
    ["c", 1],
    ["b", 1],
    ["d", 2],
  ]);
});

it("takes a fork of something that it does not know for a root", () => {
  expect(treeLines([job("b", ["gone", 4])])).toHaveLength(1);
});

it("tells curves of one name apart", () => {
  expect([
    ...labels([
      job("ftjob-aaaaaa1", undefined, "x"),
      job("ftjob-bbbbbb2", undefined, "x"),
      job("y"),
    ]).values(),
  ]).toEqual(["x · aaaaa1", "x · bbbbb2", "y"]);
});

it("says what went on", () => {
  expect(carriedWords(["weights"])).toBe("weights");
  expect(carriedWords(["weights", "optimizer", "order"])).toBe("weights, optimizer and prompt order");
});
