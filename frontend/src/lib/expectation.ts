/** What a golden case expects of a reward: written, read, and as a form that is being filled in. */

import { number } from "./format";

/** As `reinforge.golden.Expectation`: exactly one of value, range, above, not applicable. */
export type Expectation = {
  value?: number | null;
  tolerance?: number;
  least?: number | null;
  most?: number | null;
  above?: string | null;
  not_applicable?: boolean;
};

export type ExpectationKind = "value" | "range" | "above" | "nothing";

/** The fields of the form, as they were typed. */
export type ExpectationDraft = {
  kind: ExpectationKind;
  value: string;
  least: string;
  most: string;
  above: string;
};

/** A completion of the same row that may have to get less. */
export type Rival = { text: string; value: number | null };

const MIDDLE = 0.5;
const typed = (value: number) => String(Number(value.toPrecision(12)));

/**
 * Expects what the reward says now: its value; of a range the side on which the value is; of an ordering the best
 * completion of the row that gets less. `value` null: no reward, which is expected only where it `applies` not.
 */
export function defaultExpectation(
  value: number | null,
  { applies = true, rivals = [] }: { applies?: boolean; rivals?: readonly Rival[] } = {},
): ExpectationDraft {
  const less = rivals.filter((one) => value !== null && one.value !== null && one.value < value);
  const rival = less.toSorted((a, b) => (b.value ?? 0) - (a.value ?? 0))[0] ?? rivals[0];
  const text = value === null ? "" : typed(value);
  const high = value !== null && value > MIDDLE;
  return {
    kind: value === null && !applies ? "nothing" : "value",
    value: text,
    least: high ? text : "",
    most: high ? "" : text,
    above: rival?.text ?? "",
  };
}

const read = (text: string) => {
  const plain = text.trim().replace(",", ".").replace("−", "-");
  return plain === "" || !Number.isFinite(Number(plain)) ? null : Number(plain);
};

/** The expectation of a filled form, or what is still wrong with it. */
export function readExpectation(draft: ExpectationDraft): { expect: Expectation } | { fault: string } {
  if (draft.kind === "nothing") return { expect: { not_applicable: true } };
  if (draft.kind === "above") return { expect: { above: draft.above } };
  if (draft.kind === "value") {
    const value = read(draft.value);
    return value === null ? { fault: "Enter the expected reward." } : { expect: { value } };
  }
  const [least, most] = [read(draft.least), read(draft.most)];
  if ([draft.least, draft.most].some((text) => text.trim() !== "" && read(text) === null))
    return { fault: "A limit of the range is not a number." };
  if (least === null && most === null) return { fault: "Enter at least one limit of the range." };
  if (least !== null && most !== null && least > most) return { fault: "The minimum is above the maximum." };
  return {
    expect: { ...(least === null ? {} : { least }), ...(most === null ? {} : { most }) },
  };
}

/** `1`, `at least 0.5`, `from 0.2 to 0.8`, `higher than the other completion`, `no reward`. */
export function expectationText({ value, least, most, above, not_applicable }: Expectation): string {
  if (not_applicable) return "no reward (does not apply)";
  if (above != null) return "higher than the other completion";
  if (value != null) return number(value, 6);
  if (least != null && most != null) return `from ${number(least, 6)} to ${number(most, 6)}`;
  return least != null ? `at least ${number(least, 6)}` : `at most ${number(most, 6)}`;
}
