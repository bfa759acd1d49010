import type { BaseModel } from "@/api/models";
import { valueText } from "@/lib/spec-values";

export const LEARNING_RATE = "optimizer.learning_rate";

/** Placeholder of an empty learning rate: `auto (6.25e-4)`. */
export function autoText(model: BaseModel | undefined): string {
  const auto = model?.auto_learning_rate;
  return auto ? `auto (${valueText(auto.value)})` : "auto";
}
