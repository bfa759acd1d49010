import type { Job } from "@/api/jobs";
import { number, percent, reward } from "@/lib/format";
import { pick, type SeriesMap } from "../series";
import { type Curve, curveOf, meanOf, recentOf, since, trendOf } from "./curve";

/** `act`: do something now; `watch`: keep an eye on it; `good`, `note`: for understanding. */
export type Tone = "act" | "watch" | "good" | "note";

export type Observation = {
  id: string;
  tone: Tone;
  title: string;
  /** What the curves show. */
  evidence: string;
  /** What to do about it. */
  advice?: string | undefined;
  /** The step where it began. */
  since?: number | null | undefined;
  /** Part of a sentence: why a rising reward proves nothing. */
  doubt?: string | false;
};

export type Verdict = "nothing" | "early" | "yes" | "unsure" | "no" | "stuck";
export type Check = { verdict: Verdict; headline: string; observations: Observation[] };

/** Fewer steps say nothing. */
const ENOUGH_STEPS = 5;
const RECENT = 5;
const MANY_DEAD = 0.5;
const TRUNCATED = 0.2;
const REWARD_ERRORS = 0.02;
const REWARD_ERRORS_BAD = 0.2;
const GAP = 0.01;
const CLIPPED = 0.3;
/** With fewer held-out rows no change is clear; as in `reinforge.verdict`. */
const FEWEST_ROWS = 5;
const NEARLY_ALL = 0.9;
/** Bounds as in `reinforge.verdict`, which judges a job that has ended. */
const ALL_TRUNCATED = 0.9;
/** Single steps lie below the mean. */
const NEARLY_ALL_TRUNCATED = 0.7;
const FOLLOWS_LENGTH = 0.7;
const IS_LENGTH = 0.95;

type Curves = (key: string) => Curve;
type Names = readonly [mean: string, error: string];
/** `worse`: the evaluation from which on it has clearly been below the base. */
type HeldOut = { first: number; last: number; best: number; bestStep: number } & {
  clear: boolean;
  fell: boolean;
  worse: number | null;
};

/** How many standard errors a held-out change needs: fewer may be chance. The quantile of `reinforge.verdict`. */
function clearErrors(rows: number | undefined): number {
  if (rows === undefined) return 2;
  const degrees = rows - 1;
  return rows < FEWEST_ROWS ? Number.POSITIVE_INFINITY : 1.96 + 2.4 / degrees + 3 / degrees ** 2;
}

const REWARD = ["reward_mean", "reward_std_error"] as const;
const ANSWERS = ["answer_share", "answer_std_error"] as const;

function heldOut(
  series: SeriesMap,
  rows: number | undefined,
  [key, error] = REWARD as Names,
): HeldOut | null {
  const curve = curveOf(pick(series, `held_out/${key}`));
  const errors = curveOf(pick(series, `held_out/${error}`));
  const [start, end] = [curve[0], curve.at(-1)];
  if (!start || !end || curve.length < 2) return null;
  const best = curve.reduce((a, b) => (b.value > a.value ? b : a));
  const errorAt = (step: number) => errors.find((one) => one.step === step)?.value ?? 0;
  const errorsNeeded = clearErrors(rows);
  const chance = (a: number, b: number) =>
    Number.isFinite(errorsNeeded) ? errorsNeeded * Math.hypot(errorAt(a), errorAt(b)) : errorsNeeded;
  return {
    first: start.value,
    last: end.value,
    best: best.value,
    bestStep: best.step,
    clear: end.value - start.value > chance(start.step, end.step),
    fell: best.step > start.step && best.value - end.value > Math.max(chance(best.step, end.step), 0.01),
    worse:
      start.value - end.value > Math.max(chance(start.step, end.step), 0.01)
        ? (since(curve, (value) => value < start.value) ?? end.step)
        : null,
  };
}

/** What contradicts a rising reward, and the fall that explains all that began after it. */
function doubts(at: Curves, held: HeldOut | null, answers: HeldOut | null): Observation[] {
  const observations: Observation[] = [];
  const add = (id: string, title: string, begun: number, evidence: string, advice: string, doubt: string) =>
    observations.push({ id, tone: "act", title, since: begun, evidence, advice, doubt });
  const lengths = at("reward/length_correlation");
  const r = lengths.length < 3 ? 0 : meanOf(lengths);
  if (r >= (answers?.clear ? IS_LENGTH : FOLLOWS_LENGTH)) {
    const text = `Within groups, longer completions get higher rewards (r = ${reward(r)}).`;
    const advice = "Read some completions: does the reward favor length over the right answer?";
    add("length", "Reward follows length", 1, text, advice, `reward follows length (r = ${reward(r)})`);
  }
  if (answers?.worse != null) {
    const fall = `from ${reward(answers.first)} to ${reward(answers.last)}`;
    const advice = "The reward does not measure correct answers: read completions with a high reward.";
    const text = `The share of held-out completions that end in the reference answer fell ${fall}.`;
    add("answers", "Correct answers decreased", answers.worse, text, advice, `correct answers fell ${fall}`);
  }
  if (held?.worse != null) {
    const curve = at("reward/mean");
    const rate = at("optimizer/learning_rate").at(-1)?.value ?? 0;
    const fall = `from ${reward(held.first)} to ${reward(held.last)}`;
    const text = `Held-out reward fell ${fall} by step ${held.worse}.`;
    const advice = `Lower the learning rate: start with a tenth of ${number(rate)}.`;
    const begun = since(curve, (value) => value < (curve[0]?.value ?? 0) / 2) ?? held.worse;
    add("worse", "Worse than base", begun, text, advice, `held-out reward fell below base, ${fall}`);
  }
  return observations;
}

function rewards(at: Curves, held: HeldOut | null): Observation[] {
  const observations: Observation[] = [];
  const trend = trendOf(at("reward/mean"));
  const spread = at("reward/std");
  if (spread.length >= ENOUGH_STEPS && (recentOf(spread, RECENT) ?? 1) < 1e-6) {
    const all = recentOf(at("reward/mean")) ?? 0;
    observations.push({
      id: "no-spread",
      tone: "act",
      title: "All completions score the same",
      evidence: `All recent rewards are ${reward(all)}: no completion is better than another.`,
      advice: "Read some completions: does the reward check the right part? Partial credit adds a signal.",
    });
  }
  if (held?.clear) {
    observations.push({
      id: "held-out",
      tone: "good",
      title: "Held-out reward rose",
      evidence: `From ${reward(held.first)} to ${reward(held.last)} on rows that are not used for training.`,
    });
  }
  if (held?.fell && held.worse === null) {
    observations.push({
      id: "past-best",
      tone: "watch",
      title: "Past the best checkpoint",
      evidence: `Held-out reward was ${reward(held.best)} at step ${held.bestStep} and is ${reward(held.last)} now.`,
      advice: `Use the checkpoint of step ${held.bestStep}. Next time, use fewer steps or a lower learning rate.`,
    });
  } else if (held && trend?.direction === "up" && !held.clear) {
    observations.push({
      id: "not-carried-over",
      tone: "watch",
      title: "No gain on held-out rows",
      evidence: `Training reward went from ${reward(trend.from)} to ${reward(trend.to)}; held-out from ${reward(held.first)} to ${reward(held.last)}, which is not significant.`,
      advice:
        "Read completions with a high reward: does the reward measure what you want? More varied rows also help.",
    });
  }
  return observations;
}

function groups(at: Curves): Observation[] {
  const dead = at("groups/zero_variance_share");
  const share = recentOf(dead, RECENT);
  if (share === null || share <= MANY_DEAD) return [];
  const right = recentOf(at("groups/all_right_share"), RECENT) ?? 0;
  const wrong = recentOf(at("groups/all_wrong_share"), RECENT) ?? 0;
  const start = since(dead, (value) => value > MANY_DEAD * 0.8);
  const when = start === null ? "in the last steps" : `since step ${start}`;
  if (right >= wrong) {
    return [
      {
        id: "solved",
        tone: "watch",
        title: "Most groups have equal rewards",
        evidence: `${percent(right)} of groups have equal rewards above 0 ${when} and no training signal.`,
        advice:
          "If these completions are correct, use harder rows or stop; if not, the reward is too coarse.",
      },
    ];
  }
  return [
    {
      id: "too-hard",
      tone: "act",
      title: "Most groups score 0",
      evidence: `${percent(wrong)} of groups have equal rewards of 0 or below ${when} and no training signal.`,
      advice:
        "Use easier rows, a reward with partial credit, more completions per prompt or more tokens per completion.",
    },
  ];
}

function policy(at: Curves): Observation[] {
  const observations: Observation[] = [];
  const entropy = trendOf(at("entropy/mean"));
  const score = recentOf(at("reward/mean"), RECENT) ?? 0;
  if (entropy && entropy.from > 0 && entropy.to < 0.15 * entropy.from && score < NEARLY_ALL) {
    observations.push({
      id: "entropy-collapse",
      tone: "act",
      title: "The policy stopped exploring",
      evidence: `Entropy fell from ${number(entropy.from)} to ${number(entropy.to)} nat while the reward is only ${reward(score)}.`,
      advice:
        "Lower the learning rate, add a KL weight (algorithm.loss.kl.beta) or raise the upper clip bound.",
    });
  } else if (entropy?.direction === "down") {
    observations.push({
      id: "entropy",
      tone: "note",
      title: "Less exploration, as expected",
      evidence: `Entropy fell from ${number(entropy.from)} to ${number(entropy.to)} nat per token, as expected while the reward rises.`,
    });
  } else if (entropy && entropy.direction === "up" && entropy.to > 2 * entropy.from) {
    observations.push({
      id: "entropy-blow-up",
      tone: "watch",
      title: "Entropy rises",
      evidence: `Entropy rose from ${number(entropy.from)} to ${number(entropy.to)} nat per token.`,
      advice: "The learning rate is probably too high.",
    });
  }
  const clipped = Math.max(
    recentOf(at("policy/clip_high_share"), RECENT) ?? 0,
    recentOf(at("policy/clip_low_share"), RECENT) ?? 0,
  );
  if (clipped > CLIPPED) {
    observations.push({
      id: "clipped",
      tone: "watch",
      title: "Updates are too large",
      evidence: `${percent(clipped)} of tokens are clipped.`,
      advice: "Lower the learning rate or the number of updates per step.",
    });
  }
  const gap = recentOf(at("sampler/gap_mean"), RECENT) ?? 0;
  if (gap > GAP) {
    observations.push({
      id: "gap",
      tone: "act",
      title: "Sampler and trainer disagree",
      evidence: `Their log-probabilities differ by ${number(gap)} nat per token; below ${GAP} is normal.`,
      advice: "This is a precision or engine problem: report it and do not rely on this run.",
    });
  }
  const skipped = at("optimizer/skipped_updates").at(-1)?.value ?? 0;
  if (skipped > 0) {
    observations.push({
      id: "skipped",
      tone: "watch",
      title: "Skipped updates",
      evidence: `${number(skipped)} so far: the gradient was not finite.`,
      advice: "Lower the learning rate or change the precision.",
    });
  }
  return observations;
}

function completions(at: Curves): Observation[] {
  const observations: Observation[] = [];
  const errors = recentOf(at("reward/error_share"), RECENT) ?? 0;
  if (errors > REWARD_ERRORS) {
    observations.push({
      id: "reward-errors",
      tone: errors > REWARD_ERRORS_BAD ? "act" : "watch",
      title: "Reward errors",
      evidence: `${percent(errors)} of completions have no reward because of an error.`,
      advice: "The messages are shown with the completions. Fix the reward and start a new job.",
    });
  }
  const truncated = recentOf(at("completions/truncated_share"), RECENT) ?? 0;
  const all = truncated >= ALL_TRUNCATED;
  if (truncated > TRUNCATED) {
    observations.push({
      id: "truncated",
      since: since(
        at("completions/truncated_share"),
        (value) => value > (all ? NEARLY_ALL_TRUNCATED : TRUNCATED),
      ),
      doubt: all && `${percent(truncated)} of completions hit the token limit`,
      tone: "act",
      title: "Truncated completions",
      evidence: `${percent(truncated)} of completions hit the token limit.`,
      advice: "Raise rollout.max_completion_tokens or reward shorter answers.",
    });
  }
  const length = trendOf(at("completions/length_mean"));
  const trend = trendOf(at("reward/mean"));
  if (length && length.to > 1.5 * length.from && trend && trend.direction !== "up") {
    observations.push({
      id: "longer-for-nothing",
      tone: "watch",
      title: "Longer but not better",
      evidence: `Completions went from ${number(length.from)} to ${number(length.to)} tokens; the reward did not rise.`,
      advice: "Read some completions: the reward may favor length.",
    });
  }
  return observations;
}

/** Why nobody should read the loss. Always told, because it is what people look at first. */
const LOSS: Observation = {
  id: "loss",
  tone: "note",
  title: "A loss near 0 is normal",
  evidence:
    "Advantages of a group sum to 0 and the ratio is 1 before the first update, so the loss stays near 0 however well training goes. Only its gradient matters. Read the reward instead.",
};

/** Said only where nothing contradicts that the job learns. */
const PRAISE = new Set(["held-out", "solved", "entropy"]);

/** What is known beside the curves: held-out rows, and the server's verdict on a job that has ended. */
type Context = { rows?: number | undefined; outcome?: Job["verdict"] | undefined };

const ORDER: Record<Tone, number> = { act: 0, watch: 1, good: 2, note: 3 };

function judge(at: Curves, held: HeldOut | null, observations: readonly Observation[]): [Verdict, string] {
  const curve = at("reward/mean");
  const trend = trendOf(curve);
  const had = (id: string) => observations.some((one) => one.id === id);
  if (curve.length === 0) return ["nothing", "No data yet."];
  if (curve.length < ENOUGH_STEPS || !trend) {
    return ["early", `Too early to say: the first ${ENOUGH_STEPS} steps are not enough.`];
  }
  const why = observations.flatMap(({ doubt }) => doubt || []).join(", ");
  if (why) return held?.worse != null ? ["no", `No: ${why}.`] : ["unsure", `Cannot tell: ${why}.`];
  if (held && held.last < held.first) {
    const low = `held-out reward is ${reward(held.last)}, below base (${reward(held.first)})`;
    return ["unsure", `Cannot tell: ${low}.`];
  }
  const never = at("reward/std").every(({ value }) => value < 1e-6);
  if (had("no-spread") && (never || (recentOf(curve, RECENT) ?? 0) < NEARLY_ALL)) {
    return ["no", "No: all completions score the same, so there is no training signal."];
  }
  if (held?.clear) {
    const still = held.fell ? `, though less than the ${reward(held.best)} at step ${held.bestStep}` : "";
    return ["yes", `Yes: held-out reward rose from ${reward(held.first)} to ${reward(held.last)}${still}.`];
  }
  if (trend.direction === "up") {
    const rose = `training reward rose from ${reward(trend.from)} to ${reward(trend.to)}`;
    return held
      ? ["unsure", `Perhaps: ${rose}, but held-out reward has no clear rise.`]
      : ["unsure", `Cannot tell: ${rose}, but there are no held-out rows to confirm it.`];
  }
  if (trend.direction === "down") {
    return ["no", `No: training reward fell from ${reward(trend.from)} to ${reward(trend.to)}.`];
  }
  if (trend.to >= NEARLY_ALL) {
    return ["stuck", `Little left to learn: the reward is about ${reward(trend.to)} since the start.`];
  }
  return ["unsure", `Not yet: the reward stays at about ${reward(trend.to)}.`];
}

/**
 * Reads a job's curves as somebody experienced would: is it training, what speaks for and against it, what to do.
 * Rules over the newest points; the worst first.
 */
export function checkTraining(series: SeriesMap, { rows, outcome }: Context = {}): Check {
  const at: Curves = (key) => curveOf(pick(series, key));
  const held = heldOut(series, rows);
  const early = at("reward/mean").length < ENOUGH_STEPS;
  const doubted = doubts(at, held, heldOut(series, rows, ANSWERS));
  const broke = doubted.find(({ id }) => id === "worse")?.since ?? null;
  const begun = (one: Observation) => (one.id === "worse" ? 1.5 : (one.since ?? 1e9));
  const wrong = [...doubted, ...completions(at)];
  const praised = (outcome ?? "learned") === "learned" && !wrong.some(({ doubt }) => doubt);
  const notes = wrong
    .concat(early ? [] : [...rewards(at, held), ...groups(at), ...policy(at)])
    .filter(({ id }) => !PRAISE.has(id) || praised)
    // What began after the policy broke follows from that: no advice of its own.
    .map((one) =>
      broke === null || one.id === "worse" || begun(one) <= 1 ? one : { ...one, advice: undefined },
    )
    .toSorted((a, b) => begun(a) - begun(b));
  const [verdict, headline] = judge(at, held, notes);
  const observations = [...notes, LOSS].toSorted((a, b) => ORDER[a.tone] - ORDER[b.tone]);
  return { verdict, headline, observations };
}
