import { describe, expect, it } from "vitest";
import { backoff, createFrameParser, type Frame } from "./stream";

const TEXT = [
  ": keep-alive",
  "",
  "retry: 1000",
  "",
  "id: ftjob-a:7",
  "event: batch",
  'data: {"seq": 7,',
  'data: "events": []}',
  "",
  "data: second",
  "",
  "",
].join("\n");

const FRAMES: Frame[] = [
  { id: "ftjob-a:7", event: "batch", data: '{"seq": 7,\n"events": []}' },
  { id: "ftjob-a:7", event: "message", data: "second" },
];

function parse(text: string, size: number): Frame[] {
  const frames: Frame[] = [];
  const feed = createFrameParser((frame) => frames.push(frame));
  for (let at = 0; at < text.length; at += size) feed(text.slice(at, at + size));
  return frames;
}

describe("createFrameParser", () => {
  it("finds the same frames however the bytes are cut", () => {
    for (let size = 1; size <= TEXT.length; size += 1) expect(parse(TEXT, size)).toEqual(FRAMES);
  });

  it("reads CRLF lines, also when the pair is cut in two", () => {
    const text = TEXT.replaceAll("\n", "\r\n");
    for (let size = 1; size <= 9; size += 1) expect(parse(text, size)).toEqual(FRAMES);
  });

  it("does not show a frame that the connection broke off", () => {
    expect(parse("id: a:1\ndata: half", 5)).toEqual([]);
  });
});

describe("backoff", () => {
  it("grows to fifteen seconds and no further", () => {
    expect([0, 1, 2, 3, 10].map((attempt) => backoff(attempt, 1))).toEqual([500, 1000, 2000, 4000, 15_000]);
  });

  it("keeps at least half of the pause whatever the jitter", () => {
    expect(backoff(2, 0)).toBe(1000);
  });
});
