/** What a token is shaded by, in six levels; the steps are fixed, so that two completions can be compared. */
import { number } from "@/lib/format";

export type Measure = "logprob" | "entropy" | "gap";

type Scale = {
  name: string;
  title: string;
  meaning: string;
  /** Sizes (nat) at which the next level begins. */
  edges: readonly number[];
  /** What each level is called in the legend. */
  legend: readonly string[];
};

export const SCALES: Record<Measure, Scale> = {
  logprob: {
    name: "log-prob",
    title: "Log-probability when sampled",
    meaning: "Log-probability of each token: 0 nat = certain, −2.3 nat = 1 in 10.",
    edges: [0.01, 0.1, 0.7, 2.3, 4.6],
    legend: ["0", "−0.01", "−0.1", "−0.7", "−2.3", "−4.6 and less"],
  },
  entropy: {
    name: "entropy",
    title: "Entropy of the next-token distribution",
    meaning: "Uncertainty before each token: 0 nat = one option, 0.7 nat = two equal options.",
    edges: [0.01, 0.1, 0.7, 1.4, 2.8],
    legend: ["0", "0.01", "0.1", "0.7", "1.4", "2.8 and more"],
  },
  gap: {
    name: "gap",
    title: "Trainer minus sampler log-probability",
    meaning:
      "Difference for the same token: below 0.001 nat is rounding error, above 0.1 nat harms training.",
    edges: [1e-4, 1e-3, 1e-2, 0.1, 1],
    legend: ["0", "0.0001", "0.001", "0.01", "0.1", "1 and more"],
  },
};

export const MEASURES: readonly Measure[] = ["logprob", "entropy", "gap"];

type Scored = {
  sampler_logprobs?: readonly (number | null)[];
  trainer_logprobs?: readonly (number | null)[];
  entropies?: readonly (number | null)[];
  /** With tools: which tokens the policy wrote; the others have no values. */
  mask?: readonly boolean[];
};

/** The value of each token; undefined where the job did not record it. */
export function valuesOf(scored: Scored, measure: Measure): readonly (number | null)[] | undefined {
  const {
    sampler_logprobs: sampler = [],
    trainer_logprobs: trainer = [],
    entropies = [],
    mask = [],
  } = scored;
  const own = (values: readonly (number | null)[]) =>
    mask.length > 0 ? values.map((value, i) => (mask[i] ? value : null)) : values;
  const have = (values: readonly (number | null)[]) => (values.length > 0 ? own(values) : undefined);
  switch (measure) {
    case "logprob":
      return have(sampler);
    case "entropy":
      return have(entropies);
    case "gap":
      if (sampler.length === 0 || trainer.length === 0) return undefined;
      return own(
        sampler.map((value, i) => {
          const other = trainer[i];
          return value === null || other === null || other === undefined ? null : other - value;
        }),
      );
  }
}

/** 0 (nothing to see) to 5. A value that is missing or not a number has none. */
export function level(value: number | null | undefined, measure: Measure): number | undefined {
  if (value === null || value === undefined || Number.isNaN(value)) return undefined;
  const size = Math.abs(value);
  const { edges } = SCALES[measure];
  const above = edges.findIndex((edge) => size < edge);
  return above < 0 ? edges.length : above;
}

export const nat = (value: number | null | undefined) => `${number(value)} nat`;

/** One sentence about a completion's values: where to look. */
export function summary(values: readonly (number | null)[], measure: Measure): string {
  let [worst, at, sum, measured] = [0, -1, 0, 0];
  values.forEach((value, i) => {
    if (value === null || Number.isNaN(value)) return;
    sum += value;
    measured += 1;
    if (at < 0 || Math.abs(value) > Math.abs(worst)) [worst, at] = [value, i];
  });
  if (measured === 0) return "No values.";
  if (measure === "gap" && Math.abs(worst) < 1e-3)
    return `Negligible: the largest gap is ${nat(Math.abs(worst))}.`;
  const what = { logprob: "least likely", entropy: "highest entropy", gap: "largest gap" }[measure];
  return `Mean ${nat(sum / measured)}; ${what} at token ${at + 1}: ${nat(worst)}.`;
}
