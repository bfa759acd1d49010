/** Where the person is among the completions of a job. All of it is in the URL. */
import type { Split } from "@/api/completions";
import type { GroupSort, Only } from "./groups";
import { type Find, readFind, writeFind } from "./search/find";
import type { Measure } from "./tokens/scales";

export type View = "group" | "steps" | "results" | "label";
export type Pick = "best" | "first";

export type Place = {
  /** Undefined is the newest step at the time of opening. */
  step: number | undefined;
  /** Without a step: new steps are shown as they come. */
  follow: boolean;
  split: Split;
  prompt: number | undefined;
  /** The completion that is open. */
  sample: number | undefined;
  view: View;
  sort: GroupSort;
  only: Only;
  tokens: Measure;
  /** Thinking between <think> tags is folded. */
  fold: boolean;
  /** Completions with the same text have a card each. */
  each: boolean;
  /** The two steps of the comparison. */
  a: number | undefined;
  b: number | undefined;
  pick: Pick;
  find: Find;
};

const whole = (value: unknown) =>
  Number.isInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
const isOn = (value: unknown) => value === true || value === 1;
const oneOf = <T extends string>(names: readonly T[], value: unknown, otherwise: T): T =>
  names.find((name) => name === value) ?? otherwise;

/** From search parameters that anyone may have typed: what makes no sense is left out. */
export function readPlace(search: Readonly<Record<string, unknown>>): Place {
  return {
    step: whole(search.step),
    follow: whole(search.step) === undefined && isOn(search.follow),
    split: oneOf(["train", "held_out"], search.split, "train"),
    prompt: whole(search.prompt),
    sample: whole(search.sample),
    view: oneOf(["group", "steps", "results", "label"], search.view, "group"),
    sort: oneOf(["advantage", "reward", "length", "sampled"], search.sort, "advantage"),
    only: oneOf(["all", "signal", "right", "wrong"], search.only, "all"),
    tokens: oneOf(["logprob", "entropy", "gap"], search.tokens, "logprob"),
    fold: isOn(search.fold),
    each: isOn(search.each),
    a: whole(search.a),
    b: whole(search.b),
    pick: oneOf(["best", "first"], search.pick, "best"),
    find: readFind(search),
  };
}

/** As search parameters; what is as usual is left out, so that addresses stay short. */
export function writePlace(place: Place) {
  const unless = <T>(value: T, usual: T) => (value === usual ? undefined : value);
  return {
    step: place.step,
    follow: (place.step === undefined && place.follow) || undefined,
    split: unless(place.split, "train"),
    prompt: place.prompt,
    sample: place.sample,
    view: unless(place.view, "group"),
    sort: unless(place.sort, "advantage"),
    only: unless(place.only, "all"),
    tokens: unless(place.tokens, "logprob"),
    fold: place.fold || undefined,
    each: place.each || undefined,
    a: place.a,
    b: place.b,
    pick: unless(place.pick, "best"),
    ...writeFind(place.find),
  };
}

/** The search parameters of completions, checked. */
export type PlaceSearch = Partial<ReturnType<typeof writePlace>>;
export const placeSearch = (search: Readonly<Record<string, unknown>>): PlaceSearch =>
  writePlace(readPlace(search));

/** `push`: a new entry in the browser's history, so that "back" returns here. */
export type Go = (change: Partial<Place>, push?: boolean) => void;
