import { type QueryClient, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Schemas } from "./client";
import {
  isFinal,
  type JobDetail,
  jobKeys,
  jobQuery,
  type LogEntry,
  type Metrics,
  metricsQuery,
} from "./jobs";
import { applyEvents, isShortened } from "./live-state";
import { keepRecentEvents, recordEvents } from "./recent-events";
import { openStream, type StreamState } from "./stream";
import { trainingCheckKey } from "./training-check";

type JobEvent = Schemas["JobEvent"];
type Batch = { seq: number; events: JobEvent[] };
export type Phase = { phase: string; step: number; done?: number | null; total?: number | null };

const partsOf = (id: string) => [
  jobKeys.completions(id),
  jobKeys.checkpoints(id),
  jobKeys.findings(id),
  trainingCheckKey(id),
  jobKeys.logs(id),
  jobKeys.changes(id),
];

/** Puts a batch into the caches that the screens read; events up to `applied` are in them already. */
function applyBatch(client: QueryClient, id: string, batch: Batch, applied: number): Phase | undefined {
  const fresh = batch.events.filter((event) => event.seq > applied);
  const apply = (old: Metrics | undefined) => old && applyEvents(old, batch.events, batch.seq);
  recordEvents(id, batch.events);
  client.setQueryData<Metrics>(jobKeys.metrics(id), apply);
  client.setQueriesData<Metrics>({ queryKey: jobKeys.metricRanges(id) }, apply);
  const stale = new Set<readonly string[]>();
  const lines: LogEntry[] = [];
  let phase: Phase | undefined;
  let rewound = false;
  for (const { type, data } of fresh) {
    if (type === "status") {
      // A slower answer to an earlier request must not put an older state back.
      void client.cancelQueries({ queryKey: jobKeys.one(id) });
      client.setQueryData<JobDetail>(
        jobKeys.one(id),
        (old) => old && { ...old, ...(data as Partial<JobDetail>), finding: old.finding ?? null },
      );
      stale.add(jobKeys.list).add(trainingCheckKey(id));
      // The last word of a job may have come with rows that no event of their own announced.
      if (isFinal((data as JobDetail).status)) for (const key of partsOf(id)) stale.add(key);
    } else if (type === "phase") phase = data as Phase;
    else if (type === "completions") stale.add(jobKeys.completions(id));
    else if (type === "checkpoint") stale.add(jobKeys.checkpoints(id));
    else if (type === "finding")
      stale.add(jobKeys.findings(id)).add(trainingCheckKey(id)).add(jobKeys.one(id));
    else if (type === "metrics" && data.kind === "held_out") stale.add(trainingCheckKey(id));
    else if (type === "change") stale.add(jobKeys.changes(id));
    else if (type === "log") lines.push(data as LogEntry);
    else if (type === "rewind") {
      for (const key of partsOf(id)) stale.add(key);
      rewound = true;
    }
  }
  // A bucket that spans the step is gone as a whole: its part before the step is fetched again.
  if (rewound && isShortened(client.getQueryData<Metrics>(jobKeys.metrics(id)))) {
    stale.add(jobKeys.metrics(id)).add(jobKeys.metricRanges(id));
  }
  if (lines.length > 0) {
    client.setQueryData<LogEntry[]>(jobKeys.logs(id), (old) => {
      const last = old?.at(-1)?.seq ?? 0;
      return old && [...old, ...lines.filter((line) => line.seq > last)];
    });
  }
  for (const queryKey of stale) {
    // Completions of a past step change only by a rewind: only "newest" lists are fetched again.
    void client.invalidateQueries({
      queryKey,
      predicate: ({ queryKey: key }) => rewound || key[1] !== "completions" || key.includes("newest"),
    });
  }
  return phase;
}

/**
 * Keeps the caches of a job in step with the server while the job is not final. Starts where `GET …/metrics` ended,
 * so that the picture is complete whatever happened before, between and after. Held back, nothing is received; going
 * on starts where it stopped and catches up.
 */
export function useJobLive(id: string, held = false): { state: StreamState; phase: Phase | undefined } {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState>("connecting");
  const [phase, setPhase] = useState<Phase>();
  const loaded = useQuery(metricsQuery(id)).isSuccess;
  const status = useQuery(jobQuery(id)).data?.status;
  const final = status !== undefined && isFinal(status);

  useEffect(() => {
    if (!loaded || final || held) return;
    setPhase(undefined);
    keepRecentEvents(id);
    let applied = client.getQueryData<Metrics>(jobKeys.metrics(id))?.seq ?? 0;
    return openStream({
      url: `/api/v1/jobs/${encodeURIComponent(id)}/stream`,
      lastId: `${id}:${applied}`,
      onState: (next) => {
        setState(next);
        // A state that changed between the two first requests is in neither of them.
        if (next === "live" || next === "ended") void client.invalidateQueries({ queryKey: jobKeys.one(id) });
      },
      onFrame: (frame) => {
        if (frame.event !== "batch") return;
        const batch = JSON.parse(frame.data) as Batch;
        const next = applyBatch(client, id, batch, applied);
        applied = Math.max(applied, batch.seq);
        if (next) setPhase(next);
      },
      isOver: () => {
        const job = client.getQueryData<JobDetail>(jobKeys.one(id));
        return job !== undefined && isFinal(job.status);
      },
      onRefused: () => {
        setState("ended");
        void client.invalidateQueries({ queryKey: ["me"] });
      },
    });
  }, [client, id, loaded, final, held]);

  return { state: final ? "ended" : state, phase };
}
