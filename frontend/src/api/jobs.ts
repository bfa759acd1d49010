import {
  infiniteQueryOptions,
  type QueryClient,
  queryOptions,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";
import { withRecentEvents } from "./recent-events";

export type Job = Schemas["Job"];
export type JobDetail = Schemas["JobDetail"];
export type JobStatus = Schemas["JobStatus"];
export type JobSpec = Schemas["JobSpec"];
export type Metrics = Schemas["Metrics"];
export type Series = Schemas["Series"];
export type Checkpoint = Schemas["Checkpoint"];
export type LogEntry = Schemas["LogEntry"];
export type Finding = Schemas["FindingEntry"];

const ROOM = ["jobs"] as const;

/** Nothing changes such a job any more. The same set as `reinforge.states.FINAL`. */
const FINAL: ReadonlySet<JobStatus> = new Set(["succeeded", "failed", "cancelled"]);
/** Why a job is not a plain success: its most important error, or else the verdict in short. */
export const stateNote = ({ finding, verdict_detail }: Pick<Job, "finding" | "verdict_detail">) =>
  finding?.severity === "error" ? finding.title : verdict_detail?.note;
export const isFinal = (status: JobStatus) => FINAL.has(status);
const PAUSABLE: ReadonlySet<JobStatus> = new Set(["queued", "starting", "running"]);
/** Pausing changes such a job. The same set as `reinforge.states.PAUSABLE`. */
export const isPausable = (status: JobStatus) => PAUSABLE.has(status);
export const isCancellable = (status: JobStatus) => !FINAL.has(status) && status !== "cancelling";

export const jobKeys = {
  list: [...ROOM, "list"] as const,
  one: (id: string) => [...ROOM, "one", id] as const,
  metrics: (id: string) => [...ROOM, "metrics", id] as const,
  metricRanges: (id: string) => [...ROOM, "metric-ranges", id] as const,
  completions: (id: string) => [...ROOM, "completions", id] as const,
  checkpoints: (id: string) => [...ROOM, "checkpoints", id] as const,
  logs: (id: string) => [...ROOM, "logs", id] as const,
  findings: (id: string) => [...ROOM, "findings", id] as const,
  changes: (id: string) => [...ROOM, "changes", id] as const,
};

const LIST_PAGE = 50;

export const jobsQuery = (status?: JobStatus) =>
  infiniteQueryOptions({
    queryKey: [...jobKeys.list, status ?? "all"],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/jobs", {
          params: { query: { limit: LIST_PAGE, after: pageParam, status: status && [status] } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: 5_000,
  });

/** Queue position of a job; live events do not contain it. Null once it no longer waits. */
export const queuePlaceQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "place", id],
    queryFn: async () => {
      const job = await unwrap(http.GET("/api/v1/jobs/{id}", { params: { path: { id } } }));
      return job.queue ?? null;
    },
    refetchInterval: 5_000,
  });

/** Open rollouts of a job whose rollouts a program runs. */
export const rolloutCountsQuery = (id: string) =>
  queryOptions({
    queryKey: [...ROOM, "rollouts", id],
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/rollouts", { params: { path: { id } } })),
    refetchInterval: 5_000,
  });

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.one(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
  });

/** Points per curve that the server sends at most; more would be narrower than a pixel. */
const BUCKETS = 1500;

/** Answers are whole or newer than what is known, never older; comparing them point by point would cost more. */
const structuralSharing = (_: unknown, next: unknown) => withRecentEvents(next as Metrics);

/**
 * All curves, of a long job in buckets, with the cursor to stream on from. The stream keeps them up to date: never
 * refetched on a timer.
 */
export const metricsQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.metrics(id),
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/metrics", { params: { path: { id }, query: { buckets: BUCKETS } } }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing,
  });

/** The steps `from` to `to` as finely as they were measured; for a job whose curves came in buckets. */
export const metricRangeQuery = (id: string, from: number, to: number) =>
  queryOptions({
    queryKey: [...jobKeys.metricRanges(id), from, to],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/metrics", {
          params: { path: { id }, query: { buckets: BUCKETS, from_step: from, to_step: to } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing,
  });

export const checkpointsQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.checkpoints(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/checkpoints", { params: { path: { id } } })),
  });

export const findingsQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.findings(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/findings", { params: { path: { id } } })),
  });

const LOG_PAGE = 1000;

/** The whole log, oldest first. */
export const logsQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.logs(id),
    queryFn: async () => {
      const lines: LogEntry[] = [];
      for (;;) {
        const page = await unwrap(
          http.GET("/api/v1/jobs/{id}/logs", {
            params: { path: { id }, query: { after: lines.at(-1)?.seq ?? 0, limit: LOG_PAGE } },
          }),
        );
        lines.push(...page.data);
        if (!page.has_more || page.data.length === 0) return lines;
      }
    },
  });

function keepJob(client: QueryClient, job: JobDetail) {
  client.setQueryData(jobKeys.one(job.id), job);
  return client.invalidateQueries({ queryKey: jobKeys.list });
}

export function useCreateJob() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (body: JobSpec) => unwrap(http.POST("/api/v1/jobs", { body })),
    onSuccess: (job) => keepJob(client, job),
  });
}

export type JobUpdate = Schemas["JobUpdate"];

/** Name, notes, tags or archive; on screen before the server has answered, and back if it refuses. */
export function useUpdateJob(id: string) {
  const client = useQueryClient();
  const { queryKey } = jobQuery(id);
  return useMutation({
    mutationFn: ({ etag, ...body }: JobUpdate & { etag: string }) =>
      unwrap(http.PATCH("/api/v1/jobs/{id}", { params: { path: { id }, header: madeFrom(etag) }, body })),
    onMutate: async ({ name, notes, tags, archived }) => {
      await client.cancelQueries({ queryKey });
      const before = client.getQueryData(queryKey);
      const changes = { name, notes, tags, archived };
      const set = Object.fromEntries(Object.entries(changes).filter(([, value]) => value != null));
      client.setQueryData(queryKey, (job) => job && { ...job, ...set });
      return before;
    },
    onError: (_, __, before) => {
      client.setQueryData(queryKey, before);
      return client.invalidateQueries({ queryKey });
    },
    onSuccess: (job) => keepJob(client, job),
  });
}

export function useCancelJob(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/jobs/{id}/cancel", { params: { path: { id } } })),
    onSuccess: (job) => keepJob(client, job),
  });
}

/** Delete one that has ended, with all that it stored. What is kept of it here goes once its page is left. */
export function useDeleteJob(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.DELETE("/api/v1/jobs/{id}", { params: { path: { id } } })),
    onSuccess: () => client.invalidateQueries({ queryKey: jobKeys.list }),
  });
}

/** Stop it with a checkpoint: at once, or after the step under way. */
export function usePauseJob(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/jobs/{id}/pause", { params: { path: { id } } })),
    onSuccess: (job) => keepJob(client, job),
  });
}

/** Puts a paused job back into the queue; it resumes from its newest resume state. */
export function useResumeJob(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/jobs/{id}/resume", { params: { path: { id } } })),
    onSuccess: (job) => keepJob(client, job),
  });
}
