import { describe, expect, it } from "vitest";
import { queueStory, sayReason } from "./reasons";

const JOB = { id: "ftjob-b", attempt: 1, reason: null };
const trainer = (job: string | null = null, online = true) => ({ kind: "trainer", online, job });
const calls = { kind: "calls", online: true, job: null };

describe("queueStory", () => {
  it("says how to start a worker when none is online; one that answers calls does not train", () => {
    const story = queueStory(JOB, [calls, trainer(null, false)], []);
    expect(story).toMatchObject({ title: "No worker is online", stuck: true, command: "python -m worker" });
  });

  it("counts the jobs before it while all workers are busy", () => {
    const waiting = [{ id: "ftjob-x" }, { id: "ftjob-y" }, { id: "ftjob-b" }];
    const story = queueStory(JOB, [trainer("ftjob-a")], waiting);
    expect(story?.text).toMatch(/^2\sjobs of this project before it/);
    expect(story?.stuck).toBe(false);
  });

  it("is next when a worker is free", () => {
    expect(queueStory(JOB, [trainer()], [{ id: "ftjob-b" }])?.title).toBe("Next in line");
  });

  it("says that a job that lost its worker goes on, and nothing before workers are known", () => {
    expect(queueStory({ ...JOB, attempt: 2 }, [trainer("ftjob-a")], [])?.text).toContain("goes on");
    expect(queueStory(JOB, undefined, [])).toBeNull();
  });
});

describe("sayReason", () => {
  it("puts codes into words, known or not", () => {
    expect(sayReason("paused", "reward_errors")).toBe("Paused: the reward fails too often");
    expect(sayReason("failed", "brand_new_code")).toBe("Failed: brand new code");
    expect(sayReason("failed", null)).toBe("Failed");
  });
});
