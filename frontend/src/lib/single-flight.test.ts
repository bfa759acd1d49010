import { expect, it, vi } from "vitest";
import { singleFlight } from "./single-flight";

it("a second press does nothing while the first is under way", async () => {
  const once = singleFlight();
  let finish = () => {};
  const act = vi.fn(() => new Promise<void>((resolve) => (finish = resolve)));
  const first = once(act);
  await once(act);
  expect(act).toHaveBeenCalledTimes(1);
  finish();
  await first;
  void once(act);
  expect(act).toHaveBeenCalledTimes(2);
});

it("an act that fails lets the next one through", async () => {
  const once = singleFlight();
  await expect(once(() => Promise.reject(new Error("refused")))).rejects.toThrow("refused");
  const act = vi.fn(() => Promise.resolve());
  await once(act);
  expect(act).toHaveBeenCalledTimes(1);
});
