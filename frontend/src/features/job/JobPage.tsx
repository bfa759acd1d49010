import { Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { type JobDetail, jobQuery, metricsQuery } from "@/api/jobs";
import { useJobLive } from "@/api/live";
import { meQuery } from "@/api/session";
import type { StreamState } from "@/api/stream";
import { Failure } from "@/components/Failure";
import { Page, Tag } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { AnswerRow } from "./AnswerRow";
import { Banners } from "./Banners";
import { JobActions } from "./JobActions";
import { ProgressLine } from "./ProgressLine";
import { lastStep, type SeriesMap, seriesMap } from "./series";
import styles from "./Tabs.module.css";

const TABS = [
  [undefined, "Overview"],
  ["completions", "Completions"],
  ["checkpoints", "Checkpoints"],
  ["logs", "Logs"],
  ["config", "Config"],
] as const;

type Props = {
  id: string;
  tab: (typeof TABS)[number][0];
  children: (job: JobDetail, series: SeriesMap) => ReactNode;
};

type SpecFacts = {
  algorithm?: { preset?: string | null };
  rollout?: { prompts_per_step?: number; completions_per_prompt?: number };
  adapter?: { rank?: number };
};

const PRESET_NAMES: Record<string, string> = { grpo: "GRPO", dr_grpo: "Dr. GRPO" };

function facts(job: JobDetail): string[] {
  const { algorithm, rollout, adapter } = (job.resolved_spec ?? job.spec) as SpecFacts;
  const preset = algorithm?.preset ?? "grpo";
  return [
    job.model,
    `${PRESET_NAMES[preset] ?? preset} · G ${rollout?.completions_per_prompt ?? 8} × ${rollout?.prompts_per_step ?? 16} prompts`,
    `LoRA r ${adapter?.rank ?? 16}`,
    ...job.reward_names.map((name) => `reward “${name}”`),
    ...(job.attempt > 1 ? [`attempt ${job.attempt}`] : []),
  ];
}

/** How fresh the picture is; silent when all is well. */
function Connection({ state, step }: { state: StreamState; step: number }) {
  return (
    <span role="status">{state === "reconnecting" ? `Reconnecting… shown up to step ${step}` : ""}</span>
  );
}

/** The frame of a job's screens: title, state, progress, six numbers, banners, tabs. */
export function JobPage({ id, tab, children }: Props) {
  const job = useQuery(jobQuery(id));
  const metrics = useQuery(metricsQuery(id));
  const { state, phase } = useJobLive(id);
  const series = useMemo(() => seriesMap(metrics.data), [metrics.data]);
  const mayWrite = useQuery(meQuery).data?.role !== "viewer";
  const crumbs = [
    <Link key="jobs" to="/jobs">
      Jobs
    </Link>,
    id,
  ];

  if (job.isError && !job.data) {
    return (
      <Page title="Job" crumbs={crumbs}>
        <Failure title="The job could not be loaded" error={job.error} retry={() => void job.refetch()} />
      </Page>
    );
  }
  if (!job.data) {
    return (
      <Page title="Job" crumbs={crumbs}>
        <Loader size="sm" aria-label="Loading" />
      </Page>
    );
  }
  const step = Math.max(lastStep(series), job.data.progress.step);
  const meta = (
    <>
      <StatePill state={job.data.status} />
      {facts(job.data).map((fact) => (
        <Tag key={fact}>{fact}</Tag>
      ))}
      <Connection state={state} step={step} />
    </>
  );
  return (
    <Page
      title={job.data.name}
      crumbs={crumbs}
      meta={meta}
      actions={<JobActions job={job.data} step={step} mayWrite={mayWrite} />}
    >
      <ProgressLine job={job.data} series={series} phase={phase} />
      <nav className={styles.tabs} aria-label="Parts of the job">
        {TABS.map(([name, label]) => (
          <Link
            key={label}
            to="/jobs/$id"
            params={{ id }}
            search={{ tab: name }}
            activeOptions={{ includeSearch: true, explicitUndefined: true }}
          >
            {label}
          </Link>
        ))}
      </nav>
      {metrics.isError && (
        <Failure
          title="Curves could not be loaded"
          error={metrics.error}
          retry={() => void metrics.refetch()}
        />
      )}
      {tab === undefined && <AnswerRow series={series} />}
      <Banners job={job.data} />
      {children(job.data, series)}
    </Page>
  );
}
