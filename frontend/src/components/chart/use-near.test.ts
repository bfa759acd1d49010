import { expect, it } from "vitest";
import { isNear } from "./use-near";

it("takes the last of several changes that one callback brings", () => {
  const change = (isIntersecting: boolean) => ({ isIntersecting });
  expect(isNear([change(false), change(true)])).toBe(true);
  expect(isNear([change(true), change(false)])).toBe(false);
  expect(isNear([])).toBe(false);
});
