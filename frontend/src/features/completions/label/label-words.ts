import type { CalibrationReport, LabelPlace } from "@/api/labels";
import { count, number, percent } from "@/lib/format";

/** As `reinforge.evaluation.calibration.ENOUGH`: with fewer labels agreement says little. */
export const ENOUGH = 30;

export const labelKey = ({ split = "train", step, prompt_no, sample_no }: LabelPlace) =>
  `${split} ${step} ${prompt_no} ${sample_no}`;

/** What comes next: the first places of the queue that were neither labelled nor skipped, at most two. */
export function nextPlaces(queue: readonly LabelPlace[], done: ReadonlySet<string>): LabelPlace[] {
  return queue.filter((place) => !done.has(labelKey(place))).slice(0, 2);
}

/** `12 of 30 labelled`; above that the count alone. */
export const progressText = (labels: number) =>
  labels < ENOUGH ? `${labels} of ${ENOUGH} labelled` : `${count(labels, "completion")} labelled`;

/** How strong an agreement beyond chance is, by the usual steps (Landis and Koch 1977). */
export function kappaWords(kappa: number | null): string {
  if (kappa === null) return "no better than chance";
  if (kappa < 0) return "worse than chance";
  const steps = ["slight", "fair", "moderate", "substantial"];
  return steps[Math.floor(kappa * 5 + 1e-9)] ?? "almost perfect";
}

/** The agreement in one sentence. */
export function agreementText({ agreement, interval, compared, enough }: CalibrationReport): string {
  if (agreement === null) return "No labelled completion has a score of this reward yet.";
  const between = interval ? ` (95%: ${percent(interval[0])} to ${percent(interval[1])})` : "";
  const few = enough ? "" : ` Label ${ENOUGH - compared} more for a reliable result.`;
  return `You and the reward agree on ${percent(agreement)}${between} of ${count(compared, "completion")}.${few}`;
}

/** What to mind first: wrong answers that are paid are what training finds. */
export function warning({ wrong_passed: paid, right_failed: unpaid }: CalibrationReport): string | null {
  if (paid > 0) return `The reward passes ${count(paid, "wrong answer")}; training will exploit that.`;
  return unpaid > 0 ? `The reward fails ${count(unpaid, "right answer")}.` : null;
}

export type Fact = { name: string; text: string; note: string };

export function calibrationFacts(report: CalibrationReport): Fact[] {
  const { kappa, right_share, passed_share, milliseconds, cost_per_1000: cost } = report;
  return [
    { name: "Cohen's κ", text: number(kappa, 2), note: kappaWords(kappa) },
    { name: "Labelled right", text: percent(right_share), note: "of compared completions" },
    { name: "Reward passes", text: percent(passed_share), note: "of compared completions" },
    {
      name: "Time",
      text: milliseconds === null ? number(null) : `${number(milliseconds, 2)} ms`,
      note: "per completion, reward only",
    },
    ...(cost === null
      ? []
      : [{ name: "Cost", text: number(cost), note: "per 1,000 completions, in the judge's currency" }]),
  ];
}
