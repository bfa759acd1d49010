import { describe, expect, it } from "vitest";
import type { Job } from "@/api/jobs";
import { outcomes, queueLine, workerStates } from "./activity";

const job = (id: string, more: object = {}) =>
  ({ id, name: `job ${id}`, status: "succeeded", progress: { step: 3, steps: 60 }, ...more }) as Job;
const worker = (id: string, more: object) =>
  ({
    id,
    kind: "trainer",
    hostname: "vm",
    device: "cpu",
    online: true,
    busy: false,
    job: null,
    ...more,
  }) as Parameters<typeof workerStates>[0][number];

describe("workers", () => {
  it("are idle, at a job of the project, or at work for another one", () => {
    const workers = [
      worker("a", {}),
      worker("b", { busy: true, job: "j1" }),
      worker("c", { busy: true }),
      worker("d", { online: false }),
      worker("e", { kind: "calls" }),
      worker("f", { notice: "All GPUs are taken." }),
    ];
    expect(workerStates(workers, [job("j1")]).map(({ id, state }) => [id, state])).toEqual([
      ["a", "idle"],
      ["b", "step 3 of 60"],
      ["c", "busy with another project"],
      ["f", "All GPUs are taken."],
    ]);
  });
});

describe("the queue", () => {
  it("is counted by state, or as a whole where not all of it is at hand", () => {
    const jobs = [job("1", { status: "running" }), job("2", { status: "queued" }), job("3")];
    expect(queueLine(jobs, 2)).toBe("Jobs: 1 running, 1 waiting.");
    expect(queueLine(jobs, 12)).toBe("12 unfinished jobs.");
    expect(queueLine([job("3")], 0)).toBe("No job is running.");
  });
});

describe("results", () => {
  const verdict = (outcome: string, message: string, problems: string[] = []) => ({
    verdict_detail: { outcome, message, problems: problems.map((one) => ({ code: "c", message: one })) },
  });

  it("say how a job ended with its problems, each once; a problem makes success doubtful", () => {
    const jobs = [
      job("1", verdict("learned", "Yes: held-out reward 0.53 → 0.95.")),
      job("2", verdict("learned", "Yes.", ["reward follows length"])),
      job("3", verdict("unknown", "Cannot tell: measured only once.", ["measured only once"])),
      job("4", { status: "running" }),
      job("5", { status: "failed" }),
    ];
    expect(outcomes(jobs, 9).map(({ job: { id }, tone, text }) => [id, tone, text])).toEqual([
      ["1", "ok", "Yes: held-out reward 0.53 → 0.95."],
      ["2", "warn", "Yes. Reward follows length."],
      ["3", "info", "Cannot tell: measured only once."],
      ["5", "bad", "The job failed."],
    ]);
    expect(outcomes(jobs, 2)).toHaveLength(2);
  });
});
