import type { Schemas } from "@/api/client";
import type { AttackFinding, AttackReport } from "@/api/reward-attack";
import type { Case } from "./bench";

/** Findings that no other one explains. */
export const causes = (report: AttackReport): AttackFinding[] =>
  report.findings.filter((finding) => !finding.implied_by);

const TITLES = {
  broken: "Wrong completions get a reward",
  holds: "The reward holds",
  unknown: "No right completion is known",
};

export const attackTitle = (report: AttackReport) => TITLES[report.verdict];

/** Rows for an attack; the answer is the declared one, else the column that looks like it. */
export function attackOn(
  cases: readonly Case[],
  suggested: string | null | undefined,
): Pick<Schemas["RewardAttack"], "rows" | "answer"> {
  const declared = cases.some(({ item }) => "answer" in item);
  return {
    rows: cases.map(({ item, prompt }) => ({ item, prompt })),
    answer: declared ? "answer" : (suggested ?? "answer"),
  };
}
