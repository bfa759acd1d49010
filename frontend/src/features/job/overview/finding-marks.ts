import type { Finding } from "@/api/jobs";
import type { FindingMark } from "@/components/chart/space";

const TONE = { error: "bad", warning: "warn", info: "ink3" } as const;

/** Where a finding without a chart of its own is marked. */
const REWARD = [{ metric: "reward/mean" }];

/** Metric → the open findings that it is evidence of, the earliest first: what its chart marks. */
export function marksByMetric(findings: readonly Finding[]): ReadonlyMap<string, readonly FindingMark[]> {
  const marks = new Map<string, FindingMark[]>();
  const open = findings.filter(({ resolved_step }) => resolved_step == null);
  for (const { step, title, severity, evidence } of open.toSorted((a, b) => a.step - b.step)) {
    for (const { metric } of evidence?.charts?.length ? evidence.charts : REWARD) {
      marks.set(metric, [...(marks.get(metric) ?? []), { step, title, color: TONE[severity] }]);
    }
  }
  return marks;
}

/** The findings of a chart's lines, each once. */
export function marksOn(
  keys: readonly string[],
  marks: ReadonlyMap<string, readonly FindingMark[]>,
): FindingMark[] {
  const all = keys.flatMap((key) => marks.get(key) ?? []);
  return all.filter(
    ({ title, step }, at) => all.findIndex((one) => one.title === title && one.step === step) === at,
  );
}

/** "Since step 8: Reward follows length." */
export const marksSentence = (marks: readonly FindingMark[]) =>
  marks.map(({ step, title }) => ` Since step ${step}: ${title}.`).join("");
