import { describe, expect, it } from "vitest";
import type { LogEntry } from "@/api/jobs";
import { asText, blocks, pieces, select } from "./log-lines";

const line = (seq: number, level: string, message: string, attempt = 1): LogEntry => ({
  seq,
  ts: 1_700_000_000 + seq,
  level,
  message,
  step: null,
  attempt,
});
const LOG = [line(1, "info", "Loading"), line(2, "warning", "Slow reward"), line(3, "error", "No space", 2)];

describe("select", () => {
  it("lets through a level and what is worse", () => {
    expect(select(LOG, "warnings", "").map((one) => one.seq)).toEqual([2, 3]);
    expect(select(LOG, "errors", "").map((one) => one.seq)).toEqual([3]);
    expect(select(LOG, "all", "")).toBe(LOG);
  });

  it("searches whatever the case", () => {
    expect(select(LOG, "all", " REWARD ").map((one) => one.seq)).toEqual([2]);
    expect(select(LOG, "all", "(")).toEqual([]);
  });
});

it("marks every match and nothing else", () => {
  expect(pieces("a(b)A", "a")).toEqual(["", "a", "(b)", "A", ""]);
  expect(pieces("a(b)", "(")).toEqual(["a", "(", "b)"]);
  expect(pieces("text", "")).toEqual(["text"]);
});

it("draws lines in blocks, a new one with each attempt", () => {
  expect(
    blocks([...LOG, line(4, "info", "Again", 2)], 2).map((one) => [one.attempt, one.first, one.lines.length]),
  ).toEqual([
    [1, true, 2],
    [2, true, 2],
  ]);
  expect(
    blocks(
      Array.from({ length: 5 }, (_, i) => line(i, "info", "x")),
      2,
    ).map((one) => one.first),
  ).toEqual([true, false, false]);
});

it("is a text file with times in UTC", () => {
  expect(asText(LOG.slice(0, 1))).toBe("2023-11-14T22:13:21.000Z INFO    [attempt 1] Loading\n");
});
