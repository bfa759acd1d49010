import { expect, it } from "vitest";
import { tabTitle } from "./tab-title";

const job = (status: string, steps = 60) =>
  ({ name: "sums", status, progress: { step: 0, steps, percent: 0 } }) as Parameters<typeof tabTitle>[0];

it("says how far a job is, and how it ended", () => {
  expect(tabTitle(job("queued"), 0)).toBe("queued · sums");
  expect(tabTitle(job("running"), 20)).toBe("33% · sums");
  expect(tabTitle(job("running"), 59)).toBe("98% · sums");
  expect(tabTitle(job("paused"), 20)).toBe("paused · sums");
  expect(tabTitle(job("succeeded"), 60)).toBe("✓ · sums");
  expect(tabTitle(job("failed"), 7)).toBe("✗ failed · sums");
});
