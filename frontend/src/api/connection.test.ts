import { describe, expect, it } from "vitest";
import { createConnection } from "./connection";

/** A connection whose pauses end when the test says so. */
function rig(answers: boolean[]) {
  const pauses: (() => void)[] = [];
  const states: boolean[] = [];
  const connection = createConnection(
    async () => answers.shift() ?? true,
    (run) => pauses.push(run),
  );
  connection.watch(() => states.push(connection.isAway()));
  const next = async () => {
    pauses.shift()?.();
    await Promise.resolve();
    await Promise.resolve();
  };
  return { connection, pauses, states, next };
}

describe("createConnection", () => {
  it("says nothing about one lost request when the server answers the next question", async () => {
    const { connection, states, next, pauses } = rig([true]);
    connection.lost();
    await next();
    expect(states).toEqual([]);
    expect(pauses).toHaveLength(0);
  });

  it("says once that the server is away, asks until it answers, and says that it is back", async () => {
    const { connection, states, next, pauses } = rig([false, false, true]);
    connection.lost();
    await next();
    await next();
    expect(states).toEqual([true]);
    await next();
    expect(states).toEqual([true, false]);
    expect(pauses).toHaveLength(0);
  });

  it("asks once however many requests are lost, and again after a return", async () => {
    const { connection, pauses, next } = rig([true, true]);
    connection.lost();
    connection.lost();
    expect(pauses).toHaveLength(1);
    await next();
    connection.lost();
    expect(pauses).toHaveLength(1);
  });
});
