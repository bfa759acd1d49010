import { expect, it } from "vitest";
import type { Schemas } from "@/api/client";
import { workersLine } from "./workers";

type Worker = Schemas["WorkerInfo"];

const worker = (more: Partial<Worker> = {}): Worker => ({
  id: "wrk_a",
  kind: "trainer",
  hostname: "host",
  online: true,
  jail: "L",
  device: "cpu",
  version: "0.2.0",
  last_seen_at: "2026-11-20T12:00:00Z",
  ...more,
});

const plain = (text: string) => text.replaceAll("\u00a0", " ").replaceAll("\u202f", " ");

it.each([
  [[], "No worker online: jobs wait."],
  [[worker({ online: false })], "No worker online: jobs wait."],
  [[worker({ kind: "calls" })], "No trainer online: jobs wait."],
  [[worker(), worker({ kind: "calls" })], "1 worker online · sandbox: Landlock"],
  [[worker({ jail: "N" }), worker({ jail: "L" })], "2 workers online · sandbox: namespaces, Landlock"],
  [[worker({ jail: null })], "1 worker online · no sandbox: rewards are rejected"],
] as [Worker[], string][])("says who works (%#)", (workers, line) => {
  expect(plain(workersLine(workers))).toBe(line);
});
