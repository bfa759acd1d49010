import type { BaseModel } from "@/api/models";
import { valueText } from "@/lib/spec-values";
import { autoOf, type Suggested, suggestionOf } from "./suggested/suggested";

export const LEARNING_RATE = "optimizer.learning_rate";

/** Placeholder of an empty learning rate: `auto (6.25e-4)`. Before a dataset is chosen, for one update per step. */
export function autoText(model: BaseModel | undefined, suggested?: Suggested): string {
  const auto = model?.auto_learning_rate;
  return autoOf(suggested, LEARNING_RATE) ?? (auto ? `auto (${valueText(auto.value)})` : "auto");
}

/** How `auto` was computed; null for a model without one. */
export function autoReason(model: BaseModel | undefined, suggested: Suggested): string | null {
  const reason = suggestionOf(suggested, LEARNING_RATE)?.reason ?? model?.auto_learning_rate?.reason;
  return reason === undefined ? null : `auto for this job: ${reason}`;
}
