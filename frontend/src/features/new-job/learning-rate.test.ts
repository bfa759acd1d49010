import { expect, it } from "vitest";
import type { BaseModel } from "@/api/models";
import { autoReason, autoText } from "./learning-rate";
import type { Suggested } from "./suggested/suggested";

it("shows what auto is for the chosen model, once that is known", () => {
  const model = { auto_learning_rate: { value: 0.000625, hidden_size: 128, measured: true, reason: "" } };
  expect(autoText(model as unknown as BaseModel)).toBe("auto (6.25e-4)");
  expect(autoText({ auto_learning_rate: null } as unknown as BaseModel)).toBe("auto");
  expect(autoText(undefined)).toBe("auto");
});

it("shows what auto is for the job with its updates per step, as soon as the server has said it", () => {
  const model = {
    auto_learning_rate: { value: 0.00125, hidden_size: 128, measured: true, reason: "for one update." },
  } as unknown as BaseModel;
  const rate = { field: "optimizer.learning_rate", value: "auto", becomes: 0.0003125, basis: "model" };
  const suggested = { data: [{ ...rate, reason: "÷ 4; not measured." }] } as unknown as Suggested;
  expect(autoText(model, suggested)).toBe("auto (3.125e-4)");
  expect(autoReason(model, suggested)).toBe("auto for this job: ÷ 4; not measured.");
  expect(autoReason(model, undefined)).toBe("auto for this job: for one update.");
  expect(autoReason(undefined, undefined)).toBeNull();
});
