import { useQuery } from "@tanstack/react-query";
import { isFinal, type JobDetail, rolloutCountsQuery } from "@/api/jobs";
import { Notice } from "@/components/Notice";
import { RunnerBlock } from "@/components/RunnerBlock";
import { count } from "@/lib/format";
import { getAt, type JsonObject } from "@/lib/paths";
import { isStopped } from "./reasons";

/** Of a job whose rollouts a program runs: how to start it until the first step is done, and whether one is missing. */
export function Runners({ job }: { job: JobDetail }) {
  const spec = (job.resolved_spec ?? job.spec) as JsonObject;
  const open = getAt(spec, "environment.type") === "agent" && !isFinal(job.status) && !isStopped(job.status);
  const counts = useQuery({ ...rolloutCountsQuery(job.id), enabled: open }).data;
  const waiting = counts?.waiting ?? 0;
  const running = counts?.running ?? 0;
  const missing = waiting > 0 && running === 0;
  const begun = job.progress.step > 0;
  if (!open || (begun && !missing)) return null;
  const title = missing ? "Waiting for a runner" : running > 0 ? "A runner is connected" : "Your own program";
  return (
    <Notice
      tone={missing ? "warn" : "info"}
      title={title}
      more={
        <RunnerBlock job={job.id}>
          Replace <code>agent:play</code> with your module and function. Create an API key in Settings.
        </RunnerBlock>
      }
    >
      {missing
        ? `${count(waiting, "rollout")} of this job ${waiting === 1 ? "waits" : "wait"} for a runner. Start your program.`
        : running > 0
          ? `${count(running, "rollout")} ${running === 1 ? "runs" : "run"} on ${counts?.runners?.join(", ")}.`
          : "You can start the program now: it waits for the rollouts of this job."}
    </Notice>
  );
}
