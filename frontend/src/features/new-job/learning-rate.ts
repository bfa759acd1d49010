import type { BaseModel } from "@/api/models";
import { valueText } from "@/lib/spec-values";
import { autoOf, type Suggested, suggestionOf } from "./suggested/suggested";

export const LEARNING_RATE = "optimizer.learning_rate";

/** Placeholder of an empty learning rate: `auto (6.25e-4)`. Before a dataset is chosen, for one update per step. */
export function autoText(model: BaseModel | undefined, suggested?: Suggested): string {
  const auto = model?.auto_learning_rate;
  return autoOf(suggested, LEARNING_RATE) ?? (auto ? `auto (${valueText(auto.value)})` : "auto");
}

/** How `auto` was computed, and whether it was measured at this size; null if nobody can say. */
export function autoReason(
  model: BaseModel | undefined,
  suggested: Suggested,
): { text: string; measured: boolean } | null {
  const reason = suggestionOf(suggested, LEARNING_RATE)?.reason ?? model?.auto_learning_rate?.reason;
  if (reason === undefined) return null;
  return { text: `auto for this job: ${reason}`, measured: !reason.includes("not measured") };
}
