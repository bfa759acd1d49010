import type { Schemas } from "@/api/client";
import { count } from "@/lib/format";
import { jailName } from "@/lib/jail";

type Worker = Schemas["WorkerInfo"];

/** "1 worker online · sandbox: Landlock", or what is missing. */
export function workersLine(workers: readonly Worker[]): string {
  const online = workers.filter((worker) => worker.online);
  if (online.length === 0) return "No worker online: jobs wait.";
  const trainers = online.filter((worker) => worker.kind === "trainer");
  if (trainers.length === 0) return "No trainer online: jobs wait.";
  const jails = [...new Set(online.flatMap(({ jail }) => (jail ? [jailName(jail)] : [])))];
  const jail = jails.length > 0 ? `sandbox: ${jails.join(", ")}` : "no sandbox: rewards are rejected";
  return `${count(trainers.length, "worker")} online · ${jail}`;
}
