import { describe, expect, it } from "vitest";
import { usualModel } from "./usual-model";

const ready = (id: string) => ({ id, status: "ready" as const });

describe("the model that the form begins with", () => {
  it("is the only ready one", () => {
    expect(usualModel([ready("small"), { id: "large", status: "adding" }], "large")).toBe("small");
  });
  it("is the newest job's where several are ready", () => {
    expect(usualModel([ready("small"), ready("large")], "large")).toBe("large");
  });
  it("is none where no job says which", () => {
    expect(usualModel([ready("small"), ready("large")], undefined)).toBeUndefined();
    expect(usualModel([ready("small"), ready("large")], "removed")).toBeUndefined();
  });
});
