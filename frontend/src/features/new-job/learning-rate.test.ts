import { expect, it } from "vitest";
import type { BaseModel } from "@/api/models";
import { autoText } from "./learning-rate";

it("shows what auto is for the chosen model, once that is known", () => {
  const model = { auto_learning_rate: { value: 0.000625, hidden_size: 128, measured: true, reason: "" } };
  expect(autoText(model as unknown as BaseModel)).toBe("auto (6.25e-4)");
  expect(autoText({ auto_learning_rate: null } as unknown as BaseModel)).toBe("auto");
  expect(autoText(undefined)).toBe("auto");
});
