import { expect, test } from "vitest";
import type { AttackReport } from "@/api/reward-attack";
import { attackOn, causes } from "./attack";
import type { Case } from "./bench";

const at = (item: Case["item"]): Case => ({ key: "a", row: 0, item, prompt: [], completions: [] });

test("the declared answer is the right one, else the column that looks like it", () => {
  expect(attackOn([at({ answer: "4", total: 5 })], "total").answer).toBe("answer");
  expect(attackOn([at({ total: 5 })], "total").answer).toBe("total");
  expect(attackOn([at({ total: 5 })], undefined).answer).toBe("answer");
  expect(attackOn([at({ total: 5 })], null).rows).toEqual([{ item: { total: 5 }, prompt: [] }]);
});

test("findings that another one explains are no causes", () => {
  const findings = [
    { code: "no_answer", implied_by: null },
    { code: "other_answer", implied_by: "no_answer" },
  ];
  expect(causes({ findings } as AttackReport).map(({ code }) => code)).toEqual(["no_answer"]);
});
