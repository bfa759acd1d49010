import { expect, it } from "vitest";
import { settled } from "./session";

it("keeps finished completions and what an unfinished one has so far", () => {
  const sampled = (text: string, done: boolean) => ({ text, from: "sampled", done }) as const;
  const { completions } = settled({
    completions: { "file-1/0": [sampled("120", true), sampled("12", false), sampled("", false)] },
    item: null,
    run: null,
  });
  expect(completions).toEqual({ "file-1/0": [sampled("120", true), sampled("12", true)] });
});
