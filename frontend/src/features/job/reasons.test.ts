import { describe, expect, it } from "vitest";
import { queueStory, sayReason } from "./reasons";

const JOB = { attempt: 1 };
const place = (position: number, reason: "no_worker" | "workers_busy" | "about_to_start", workers = 2) => ({
  position,
  of: 7,
  reason,
  workers,
});

describe("queueStory", () => {
  it("says how to start a worker when none is online", () => {
    const story = queueStory(JOB, place(1, "no_worker", 0));
    expect(story).toMatchObject({ title: "No worker is online", stuck: true, command: "python -m worker" });
  });

  it("tells the place in the queue while all workers are busy", () => {
    const story = queueStory(JOB, place(3, "workers_busy"));
    expect(story?.title).toBe("Number 3 of 7 in the queue");
    expect(story?.text).toMatch(
      /^2\sjobs ahead; projects take turns. All 2 workers are busy: waiting for a free worker/,
    );
    expect(story?.stuck).toBe(false);
    expect(queueStory(JOB, place(1, "workers_busy", 1))?.text).toMatch(/^The worker is/);
  });

  it("is next when a worker is free", () => {
    expect(queueStory(JOB, place(1, "about_to_start"))?.title).toBe("Next in the queue");
  });

  it("says what delays it beside that", () => {
    const notice = "The queue (Redis) does not answer.";
    expect(queueStory(JOB, { ...place(1, "about_to_start"), notice })?.text).toContain(notice);
    expect(queueStory(JOB, place(1, "about_to_start"))?.text).not.toContain("null");
  });

  it("says that a job that lost its worker goes on, and nothing before its place is known", () => {
    expect(queueStory({ attempt: 2 }, place(1, "workers_busy"))?.text).toContain(
      "It continues from its last state",
    );
    expect(queueStory(JOB, undefined)).toBeNull();
    expect(queueStory(JOB, null)).toBeNull();
  });
});

describe("sayReason", () => {
  it("puts codes into words, known or not", () => {
    expect(sayReason("paused", "reward_errors")).toBe("Paused: the reward fails too often");
    expect(sayReason("failed", "brand_new_code")).toBe("Failed: brand new code");
    expect(sayReason("failed", null)).toBe("Failed");
  });
});
