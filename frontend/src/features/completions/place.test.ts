import { expect, it } from "vitest";
import { type Place, placeSearch, readPlace, writePlace } from "./place";
import { NO_FIND } from "./search/find";

const USUAL: Place = {
  step: undefined,
  split: "train",
  prompt: undefined,
  sample: undefined,
  view: "group",
  sort: "advantage",
  only: "all",
  tokens: "logprob",
  fold: false,
  follow: false,
  each: false,
  a: undefined,
  b: undefined,
  pick: "best",
  find: NO_FIND,
};

it("starts at the newest step of the training rows", () => {
  expect(readPlace({})).toEqual(USUAL);
});

it("comes back as it was from the address", () => {
  const place: Place = {
    ...USUAL,
    step: 0,
    split: "held_out",
    prompt: 0,
    sample: 7,
    view: "steps",
    sort: "length",
    only: "signal",
    tokens: "gap",
    fold: true,
    a: 0,
    b: 59,
    pick: "first",
    find: { ...NO_FIND, q: "carry", adv: "positive" },
  };
  expect(readPlace(writePlace(place))).toEqual(place);
});

it("keeps the address short and survives what anyone typed into it", () => {
  expect(Object.values(writePlace(USUAL)).filter((value) => value !== undefined)).toEqual([]);
  const odd = {
    step: -1,
    prompt: 1.5,
    sample: "x",
    split: "test",
    view: "all",
    sort: null,
    tokens: {},
    fold: "no",
  };
  expect(readPlace(odd)).toEqual(USUAL);
  expect(placeSearch({ step: 3, tab: "completions", other: 1 })).toMatchObject({ step: 3 });
});
