import { describe, expect, it } from "vitest";
import type { Checkpoint } from "@/api/jobs";
import { checkpointName, comparison, downloadName, weightsOf } from "./weights";

const checkpoint = (step: number, reward: number | null, more: Partial<Checkpoint> = {}): Checkpoint => ({
  object: "checkpoint",
  id: `ftckpt_${step}`,
  job: "ftjob-a",
  step,
  bytes: 1,
  held_out_reward: reward,
  best: false,
  final: false,
  adapter: null,
  created_at: "2026-11-24T00:00:00Z",
  ...more,
});
const FINAL = checkpoint(60, 0.92, { final: true });
const BEST = checkpoint(20, 0.96, { best: true });

describe("weightsOf", () => {
  it("offers the best checkpoint, and the others beside it", () => {
    const { chosen, others, problem } = weightsOf({ held_out_reward_before: 0.58 }, [FINAL, BEST]);
    expect([chosen, others, problem]).toEqual([BEST, [FINAL], null]);
  });

  it("offers none where none is better than the base, and says so", () => {
    const low = [checkpoint(60, 0.0, { final: true }), checkpoint(20, 0.41)];
    const { chosen, others, problem } = weightsOf({ held_out_reward_before: 0.58 }, low);
    expect([chosen, others]).toEqual([null, low]);
    expect(problem).toBe("No checkpoint is better than base (0.58): step 20 reached 0.41.");
  });

  it("offers the final one where nothing was measured", () => {
    const blind = [checkpoint(60, null, { final: true }), checkpoint(20, null)];
    expect(weightsOf({ held_out_reward_before: null }, blind).chosen).toBe(blind[0]);
    expect(weightsOf({}, []).chosen).toBeNull();
  });
});

it("calls no checkpoint the best by a reward that other evidence contradicts", () => {
  const verdict = (code: "answers_disagree" | "truncated") => ({
    verdict_detail: { outcome: "unknown" as const, message: "", rows: 24, problems: [{ code, message: "" }] },
  });
  expect(downloadName(BEST, {})).toBe("Download best (step 20)");
  expect(downloadName(BEST, verdict("truncated"))).toBe("Download best (step 20)");
  expect(downloadName(BEST, verdict("answers_disagree"))).toBe("Download highest reward (step 20)");
  expect(downloadName(FINAL, {})).toBe("Download adapter");
});

it("names and compares checkpoints", () => {
  expect(checkpointName(BEST)).toBe("step 20, best");
  expect(checkpointName(FINAL)).toBe("step 60, final");
  const change = { value: 0.38, low: 0.21, high: 0.55 };
  expect(comparison({ ...BEST, held_out_change: change }, 0.58)).toBe(
    "held-out 0.96, +0.38 from base (95% interval +0.21 to +0.55)",
  );
  expect(comparison(BEST, null)).toBe("held-out 0.96");
  expect(comparison(checkpoint(1, null), 0.5)).toBe("not measured");
});
