import { expect, test } from "vitest";
import meta from "@/lib/fixtures/metrics.json";
import { metricSections } from "./metrics";

test("metrics stand under the sections of a job's charts, unknown ones last", () => {
  const keys = ["a/plugin", "reward/mean", "held_out/reward_mean", "time/step", "held_out/of_plugin"];
  const sections = metricSections(keys, meta as never);
  const titles = sections.map(({ title }) => title);
  expect(titles[0]).toBe("Headline");
  const keyed = new Map(sections.map(({ title, metrics }) => [title, metrics.map(({ key }) => key)]));
  expect(keyed.get("Headline")).toContain("reward/mean");
  expect(keyed.get("Held-out rows")).toContain("held_out/of_plugin");
  expect(keyed.get("Other")).toContain("a/plugin");
  expect(sections.flatMap(({ metrics }) => metrics)).toHaveLength(keys.length);
});
