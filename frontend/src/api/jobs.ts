import {
  infiniteQueryOptions,
  keepPreviousData,
  type QueryClient,
  queryOptions,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type Job = Schemas["Job"];
export type JobDetail = Schemas["JobDetail"];
export type JobStatus = Schemas["JobStatus"];
export type JobSpec = Schemas["JobSpec"];
export type Metrics = Schemas["Metrics"];
export type Series = Schemas["Series"];
export type CompletionRow = Schemas["CompletionRow"];
export type Completion = Schemas["Completion"];
export type RewardResult = Schemas["RewardResult"];
export type Checkpoint = Schemas["Checkpoint"];
export type LogEntry = Schemas["LogEntry"];
export type Finding = Schemas["FindingEntry"];
export type Split = CompletionRow["split"];

const ROOM = ["jobs"] as const;

/** Nothing changes such a job any more. The same set as `reinforge.states.FINAL`. */
const FINAL: ReadonlySet<JobStatus> = new Set(["succeeded", "failed", "cancelled"]);
export const isFinal = (status: JobStatus) => FINAL.has(status);
export const isCancellable = (status: JobStatus) => !FINAL.has(status) && status !== "cancelling";

export const jobKeys = {
  list: [...ROOM, "list"] as const,
  one: (id: string) => [...ROOM, "one", id] as const,
  metrics: (id: string) => [...ROOM, "metrics", id] as const,
  completions: (id: string) => [...ROOM, "completions", id] as const,
  checkpoints: (id: string) => [...ROOM, "checkpoints", id] as const,
  logs: (id: string) => [...ROOM, "logs", id] as const,
  findings: (id: string) => [...ROOM, "findings", id] as const,
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

export const jobQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.one(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}", { params: { path: { id } } })),
  });

/** Every point once, with the cursor to stream on from. The stream keeps it up to date: never refetched on a timer. */
export const metricsQuery = (id: string) =>
  queryOptions({
    queryKey: jobKeys.metrics(id),
    queryFn: () => unwrap(http.GET("/api/v1/jobs/{id}/metrics", { params: { path: { id } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The groups of one step; without a step those of the newest. */
export const completionsQuery = (id: string, split: Split, step?: number) =>
  queryOptions({
    queryKey: [...jobKeys.completions(id), split, step ?? "newest"],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/completions", {
          params: { path: { id }, query: { split, step, limit: 1000 } },
        }),
      ),
    placeholderData: keepPreviousData,
    staleTime: step === undefined ? 0 : 60_000,
  });

export const completionQuery = (id: string, row: CompletionRow) =>
  queryOptions({
    queryKey: [...jobKeys.completions(id), "one", row.split, row.step, row.prompt_no, row.sample_no],
    queryFn: () =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/completions/{split}/{step}/{prompt_no}/{sample_no}", {
          params: {
            path: {
              id,
              split: row.split,
              step: row.step,
              prompt_no: row.prompt_no,
              sample_no: row.sample_no,
            },
          },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
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

export function useCancelJob(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/jobs/{id}/cancel", { params: { path: { id } } })),
    onSuccess: (job) => keepJob(client, job),
  });
}

/** Put a paused job back into the queue; it goes on from its newest resume state. */
export function useResumeJob(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => unwrap(http.POST("/api/v1/jobs/{id}/resume", { params: { path: { id } } })),
    onSuccess: (job) => keepJob(client, job),
  });
}
