import { describe, expect, it } from "vitest";
import type { JobDetail } from "@/api/jobs";
import { followUps, stepsOf } from "./steps";

const demo = {
  spec: { data: { dataset: "file-demo", held_out: "file-held" }, rewards: [{ reward: "rew-demo" }] },
} as unknown as JobDetail;
const things = (...ids: string[]) => ids.map((id) => ({ id }));
const done = (steps: ReturnType<typeof stepsOf>) => steps.filter((step) => step.done).map(({ name }) => name);
const next = (steps: ReturnType<typeof stepsOf>) => steps.find((step) => step.next)?.name;

describe("stepsOf", () => {
  it("ticks nothing for what the demo brought along", () => {
    const steps = stepsOf(demo, things("file-demo", "file-held"), things("rew-demo"), 0);
    expect([done(steps), next(steps)]).toEqual([[], "data"]);
  });

  it("ticks what the person has made, and points at the first that is missing", () => {
    const steps = stepsOf(demo, things("file-demo", "file-own"), things("rew-demo"), 0);
    expect([done(steps), next(steps)]).toEqual([["data"], "reward"]);
    expect(next(stepsOf(demo, things("file-own"), things("rew-own"), 0))).toBe("job");
  });

  it("points at nothing once there is a job", () => {
    expect(next(stepsOf(demo, things("file-own"), things("rew-own"), 1))).toBeUndefined();
  });

  it("counts everything where there is no demo", () => {
    expect(done(stepsOf(undefined, things("a"), things("b"), 0))).toEqual(["data", "reward"]);
  });
});

describe("followUps", () => {
  it("points at the first thing that was not done, and ends when all is", () => {
    expect(next(followUps({ jobs: 1, evaluations: 0, deployments: 0 }))).toBe("evaluate");
    expect(next(followUps({ jobs: 3, evaluations: 1, deployments: 0 }))).toBe("deploy");
    expect(followUps({ jobs: 3, evaluations: 1, deployments: 1 })).toEqual([]);
  });
});
