import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import { firstPath, goldenOf, place, refusal, stillTrue } from "./problems";

const FIELDS = new Set([
  "model",
  "data.dataset",
  "limits.steps",
  "rewards",
  "rewards[0]",
  "rewards[0].weight",
]);
const where = (param: string | null, message = "no") =>
  [...place([{ param, message }], FIELDS).at.keys()][0] ?? null;

describe("place", () => {
  it.each([
    ["limits.steps", "limits.steps"],
    ["rewards[0].weight", "rewards[0].weight"],
    ["rewards[0].unknown.deep", "rewards[0]"],
    ["rewards[7].weight", "rewards"],
    ["data", "data.dataset"],
    ["data.columns.prompt", "data.dataset"],
    ["bogus", null],
    [null, null],
  ])("%s stands at %s", (param, field) => expect(where(param)).toBe(field));

  it("finds the field that a rule between two begins with", () => {
    expect(where(null, "limits.steps is smaller than limits.checkpoint_every")).toBe("limits.steps");
  });

  it("names the field that is none of the form's", () => {
    const wrong = ["bogus", "optimiser"].map((param) => ({ param, message: "Unknown." }));
    expect(place(wrong, FIELDS).elsewhere.map(({ message }) => message)).toEqual([
      "bogus: Unknown.",
      "optimiser: Unknown.",
    ]);
    const inside = place([{ param: "rewards[0].colour", message: "Unknown." }], FIELDS);
    expect(inside.at.get("rewards[0]")?.[0]?.message).toBe("rewards[0].colour: Unknown.");
    expect(place([{ param: "model", message: "Gone." }], FIELDS).at.get("model")?.[0]?.message).toBe("Gone.");
  });

  it("says the same thing once", () => {
    const twice = place(
      [0, 1].map(() => ({ param: "model", message: "no" })),
      FIELDS,
    );
    expect(twice.at.get("model")).toHaveLength(1);
    expect(place([{ param: null, message: "Odd." }], FIELDS).elsewhere).toHaveLength(1);
  });
});

describe("refusal", () => {
  it("takes what the server lists, with the hint where it belongs", () => {
    const error = new ApiError(422, "invalid", "limits.steps: no", "Use 2.", "limits.steps", [
      { param: "limits.steps", message: "no" },
      { param: "model", message: "Unknown." },
    ]);
    expect(refusal(error)).toEqual([
      { param: "limits.steps", message: "no", hint: "Use 2." },
      { param: "model", message: "Unknown." },
    ]);
  });

  it("keeps golden cases apart that fail alike", () => {
    const hint = "Fix the reward.";
    const fails = (code: string) => ({ param: "rewards[0]", code, message: "It got 0 instead of 1." });
    const error = new ApiError(422, "golden_cases_failed", "2 of 3", hint, "rewards[0]", [
      fails("gold_1"),
      fails("gold_2"),
    ]);
    const { at } = place(refusal(error), new Set(["rewards[0]"]));
    expect(at.get("rewards[0]")?.map(goldenOf)).toEqual(["gold_1", "gold_2"]);
  });

  it("is one problem when nothing is listed", () => {
    const error = new ApiError(409, "busy", "The queue is full.", "Wait.");
    expect(refusal(error)).toMatchObject([{ param: null, message: "The queue is full.", hint: "Wait." }]);
  });
});

it("the first problem is the first on the screen", () => {
  const placed = place(
    [
      { param: "limits.steps", message: "a" },
      { param: "model", message: "b" },
    ],
    FIELDS,
  );
  expect(firstPath(placed, ["model", "limits.steps"])).toBe("model");
  expect(firstPath(place([], FIELDS), ["model"])).toBeNull();
});

describe("stillTrue", () => {
  it("drops what an earlier draft missed and this one has", () => {
    const missing = (param: string) => ({ param, message: "Field required", code: "missing" });
    const wrong = { param: "limits.steps", message: "at least 1", code: "greater_than_equal" };
    const spec = { model: "starter", limits: { steps: 0 } };
    expect(stillTrue([missing("model"), missing("rewards"), wrong], spec)).toEqual([
      missing("rewards"),
      wrong,
    ]);
  });
});
