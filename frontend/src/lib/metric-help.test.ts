import { describe, expect, it } from "vitest";
import meta from "./fixtures/metrics.json" with { type: "json" };
import { metricHelp } from "./metric-help";

const definitions = meta as unknown as Parameters<typeof metricHelp>[1];

describe("metricHelp", () => {
  it("explains every metric that a tile or a fixed chart is about", () => {
    for (const { about } of meta.charts) {
      if (about) expect(metricHelp(about, definitions)?.text, about).toBeTruthy();
    }
    const entropy = metricHelp("entropy/mean", definitions);
    expect(entropy?.guide).toBe("/guide/job-file#metric-entropy-mean");
  });

  it("fills the names of a family in", () => {
    const slice = metricHelp("held_out/slice/easy/reward_mean", definitions);
    expect(slice?.text).toContain("slice easy");
    expect(metricHelp("held_out/pass@4", definitions)?.text).toContain("one of k completions");
    expect(slice?.guide).toBe("/guide/job-file#metrics");
  });

  it("has nothing for a metric of a plug-in", () => {
    expect(metricHelp("own/thing", definitions)).toBeUndefined();
  });
});
