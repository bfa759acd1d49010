import type { Checkpoint, Job } from "@/api/jobs";
import { reward, signed } from "@/lib/format";

export type Weights = {
  /** The best checkpoint, or the final one where there is nothing to compare with; null where none beats the base. */
  chosen: Checkpoint | null;
  /** The other kept checkpoints, highest step first. */
  others: readonly Checkpoint[];
  /** Why there is no best one. */
  problem: string | null;
};

/** Which checkpoint a finished job's Download and Deploy offer. The same choice as `reinforge.checkpoint_choice`. */
export function weightsOf(
  job: Pick<Job, "held_out_reward_before">,
  checkpoints: readonly Checkpoint[],
): Weights {
  const best = checkpoints.find((one) => one.best);
  const measured = checkpoints.filter((one) => one.held_out_reward !== null);
  const base = job.held_out_reward_before;
  const top = measured.toSorted((a, b) => (b.held_out_reward ?? 0) - (a.held_out_reward ?? 0))[0];
  if (!best && base != null && top) {
    const problem = `No checkpoint is better than base (${reward(base)}): step ${top.step} reached ${reward(top.held_out_reward)}.`;
    return { chosen: null, others: checkpoints, problem };
  }
  const chosen = best ?? checkpoints.find((one) => one.final) ?? null;
  return { chosen, others: checkpoints.filter((one) => one !== chosen), problem: null };
}

/** Evidence that the reward pays for something else than it should: the highest one is then not the best. */
const DISPUTES = new Set(["reward_follows_length", "answers_disagree"]);

/** What the download button says. It calls no checkpoint the best by a reward that other evidence contradicts. */
export function downloadName(
  chosen: Checkpoint | null,
  { verdict_detail }: Pick<Job, "verdict_detail">,
): string {
  if (!chosen?.best) return "Download adapter";
  const disputed = verdict_detail?.problems?.some(({ code }) => DISPUTES.has(code));
  return disputed ? `Download highest reward (step ${chosen.step})` : `Download best (step ${chosen.step})`;
}

/** "step 20, best": what a checkpoint is called in a menu or a button. */
export const checkpointName = (one: Checkpoint): string =>
  `step ${one.step}${one.best ? ", best" : one.final ? ", final" : ""}`;

/** "held-out 0.96, +0.38 over base (+0.21 to +0.55)": how it compares. */
export function comparison(one: Checkpoint, base: number | null | undefined): string {
  if (one.held_out_reward === null) return "not measured";
  const value = `held-out ${reward(one.held_out_reward)}`;
  if (base == null) return value;
  const change = one.held_out_change;
  const bounds = change ? ` (95% interval ${signed(change.low)} to ${signed(change.high)})` : "";
  return `${value}, ${signed(one.held_out_reward - base)} from base${bounds}`;
}
