import { describe, expect, it } from "vitest";
import type { Evaluation } from "@/api/evaluations";
import { asInJob, bodyOf, EMPTY, faultOf, isAsInJob, jobOfWeights, like } from "./draft";

const full = { ...EMPTY, what: "adp_1", dataset: "file-1", reward: "rew_1" };

describe("the form", () => {
  it("asks for what is missing, one thing at a time", () => {
    expect(faultOf(EMPTY)).toBe("Choose a model.");
    expect(faultOf({ ...full, reward: "" })).toBe("Choose a reward.");
    expect(faultOf({ ...full, numbers: { ...full.numbers, rows: "" } })).toBe("Rows is empty.");
    expect(faultOf({ ...full, numbers: { ...full.numbers, rows: 5000, samples_per_row: 16 } })).toMatch(
      /20,000/,
    );
    expect(faultOf(full)).toBeNull();
  });
  it("names the weights by their kind, and leaves out what is empty", () => {
    const body = bodyOf({ ...full, stop: "\\n\\n" });
    expect(body).toMatchObject({ kind: "stand_alone", adapter: "adp_1", rows: 200, stop: ["\n\n"] });
    expect(body).not.toHaveProperty("held_out_rows");
    expect(body).not.toHaveProperty("revision");
    expect(bodyOf({ ...full, what: "starter" })).toMatchObject({ model: "starter" });
  });
  it("comes back from an evaluation as it was asked for", () => {
    const draft = {
      ...full,
      name: "main",
      revision: "2",
      split: "held_out" as const,
      together: true,
      stop: "\\n",
    };
    const { kind, adapter, dataset, reward, revision, name, granularity, ...settings } = bodyOf(draft);
    const form = {
      kind,
      adapter,
      model: "m",
      dataset,
      stored: reward,
      reward: "r",
      revision,
      name,
      settings,
    };
    expect(like(form as unknown as Evaluation)).toEqual(draft);
  });
});

it("takes the rows that a job held out", () => {
  const spec = {
    seed: 7,
    data: { dataset: "file-2", held_out_rows: 50, columns: { prompt: "question", answer: "total" } },
    rewards: [{ reward: "rew_2", revision: 3 }],
    rollout: { max_completion_tokens: 56 },
    evaluation: { pass_above: 0.9 },
  };
  const draft = asInJob(full, spec);
  expect(draft).toMatchObject({
    what: "adp_1",
    dataset: "file-2",
    reward: "rew_2",
    revision: "3",
    split: "held_out",
  });
  expect(draft.numbers).toMatchObject({ seed: 7, held_out_rows: 50, max_tokens: 56, pass_above: 0.9 });
  expect(bodyOf(draft)).toMatchObject({
    split: "held_out",
    split_by: "row",
    prompt_view: { columns: { prompt: "question", answer: "total" }, prompt_template: null },
  });
  expect(bodyOf(full)).not.toHaveProperty("prompt_view");
  const together = asInJob(full, { ...spec, data: { ...spec.data, split_by: "prompt" } });
  expect(bodyOf(together)).toMatchObject({ split: "held_out", split_by: "prompt" });
  const apart = asInJob(full, { ...spec, data: { ...spec.data, held_out: "file-3" } });
  expect(bodyOf(apart)).toMatchObject({ dataset: "file-3", split: "all" });
});

it("sees whether it asks for what the job measures", () => {
  const spec = { data: { dataset: "file-2" }, rewards: [{ reward: "rew_2" }] };
  expect(isAsInJob(full, spec)).toBe(false);
  expect(isAsInJob(asInJob(full, spec), spec)).toBe(true);
});

it("finds the job of an adapter, of its best checkpoint, or the one that a link names", () => {
  const adapters = [
    { id: "adp_1", job: "ftjob-1", best: { id: "ftckpt_1" } },
    { id: "adp_2", job: "ftjob-2", best: null },
  ];
  expect(["adp_2", "ftckpt_1", "ftckpt_9", ""].map((id) => jobOfWeights(id, undefined, adapters))).toEqual([
    "ftjob-2",
    "ftjob-1",
    undefined,
    undefined,
  ]);
  expect(jobOfWeights("ftckpt_9", "ftjob-9", adapters)).toBe("ftjob-9");
});
