import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { isFinal, type JobDetail, jobQuery, metricsQuery, stateNote } from "@/api/jobs";
import { useJobLive } from "@/api/live";
import { meQuery } from "@/api/session";
import { Crumb } from "@/components/Crumb";
import { Failure } from "@/components/Failure";
import { Page, Tag } from "@/components/Page";
import { Skeleton } from "@/components/Skeleton";
import { StatePill } from "@/components/StatePill";
import { TabNav } from "@/components/TabNav";
import { useShortcuts } from "@/lib/shortcuts";
import { Connection } from "./Connection";
import { JobActions } from "./JobActions";
import { JobNotices } from "./JobNotices";
import styles from "./JobPage.module.css";
import { JobLabels } from "./labels/JobLabels";
import { RenameJob } from "./labels/RenameJob";
import { AnswerRow } from "./overview/AnswerRow";
import { ProgressLine } from "./ProgressLine";
import { isStopped } from "./reasons";
import { lastStep, type SeriesMap, seriesMap } from "./series";
import { tabTitle } from "./share/tab-title";

const TABS = [
  [undefined, "Overview"],
  ["completions", "Completions"],
  ["prompts", "Prompts"],
  ["checkpoints", "Checkpoints"],
  ["logs", "Logs"],
  ["config", "Config"],
] as const;

type Tab = (typeof TABS)[number][0];

type Props = {
  id: string;
  tab: Tab;
  children: (job: JobDetail, series: SeriesMap) => ReactNode;
};

type SpecFacts = {
  rollout?: { prompts_per_step?: number; completions_per_prompt?: number };
  adapter?: { rank?: number };
};

function facts(job: JobDetail): string[] {
  const { rollout, adapter } = (job.resolved_spec ?? job.spec) as SpecFacts;
  return [
    job.started_from ? `${job.model}, from ${job.started_from.name}` : job.model,
    `${job.preset_title ?? "Custom algorithm"} · G ${rollout?.completions_per_prompt ?? 8} × ${rollout?.prompts_per_step ?? 16} prompts`,
    `LoRA r ${adapter?.rank ?? 16}`,
    ...job.reward_names.map((name) => `reward “${name}”`),
  ];
}

/** Links that keep the rest of the address: a filter or a zoom is still there on the way back. */
function Tabs({ id, tab }: { id: string; tab: Tab }) {
  const navigate = useNavigate();
  const go = (by: number) => {
    const at = TABS.findIndex(([name]) => name === tab);
    const next = TABS[(at + by + TABS.length) % TABS.length]?.[0];
    void navigate({ to: "/jobs/$id", params: { id }, search: (old) => ({ ...old, tab: next }) });
  };
  useShortcuts("job", { "[": () => go(-1), "]": () => go(1) });
  return (
    <TabNav label="Job sections">
      {TABS.map(([name, label]) => (
        <Link
          key={label}
          to="/jobs/$id"
          params={{ id }}
          search={(old) => ({ ...old, tab: name })}
          // Without this the tab without a name would count as open on every tab.
          activeOptions={{ includeSearch: true, explicitUndefined: true }}
        >
          {label}
        </Link>
      ))}
    </TabNav>
  );
}

/** What changes while the job is under way: on a line of its own then, which does not wrap. */
function State({ job, connection }: { job: JobDetail; connection: ReactNode }) {
  const state = <StatePill state={job.status} note={stateNote(job)} />;
  const attempt = job.attempt > 1 && <Tag>attempt {job.attempt}</Tag>;
  if (!isFinal(job.status)) {
    return (
      <div className={styles.state}>
        {state}
        {attempt}
        {connection}
      </div>
    );
  }
  return (
    <>
      {state}
      {attempt}
    </>
  );
}

/** The frame of a job's screens: title, state, progress, tabs, six numbers, notices. */
export function JobPage({ id, tab, children }: Props) {
  const job = useQuery(jobQuery(id));
  const metrics = useQuery(metricsQuery(id));
  const [held, setHeld] = useState(false);
  const { state, phase } = useJobLive(id, held);
  const series = useMemo(() => seriesMap(metrics.data), [metrics.data]);
  const mayWrite = useQuery(meQuery).data?.role !== "viewer";
  const crumbs = [
    <Link key="jobs" to="/jobs">
      Jobs
    </Link>,
    <Crumb key="job" id={id} name={job.data?.name} />,
  ];

  if (job.isError && !job.data) {
    return (
      <Page title="Job" crumbs={crumbs}>
        <Failure title="Could not load the job" error={job.error} retry={() => void job.refetch()} />
      </Page>
    );
  }
  if (!job.data) {
    return (
      <Page title="Job" crumbs={crumbs} meta={<Skeleton width={320} height={22} />}>
        <Skeleton height={6} />
        <div style={{ height: 36 }} role="status" aria-label="Loading" />
        <Tabs id={id} tab={tab} />
        {tab === undefined && <AnswerRow series={series} live={false} />}
      </Page>
    );
  }
  const step = Math.max(lastStep(series), job.data.progress.step);
  // Why a job stopped comes before its numbers; what else there is to know after them.
  const stopped = isStopped(job.data.status);
  const notices = <JobNotices job={job.data} />;
  const meta = (
    <>
      <State
        job={job.data}
        connection={<Connection state={state} held={held} onHold={setHeld} step={step} />}
      />
      {facts(job.data).map((fact) => (
        <Tag key={fact}>{fact}</Tag>
      ))}
    </>
  );
  return (
    <Page
      title={job.data.name}
      tabTitle={tabTitle(job.data, step)}
      crumbs={crumbs}
      rename={<RenameJob key={id} job={job.data} />}
      meta={meta}
      actions={<JobActions job={job.data} step={step} mayWrite={mayWrite} />}
    >
      <ProgressLine job={job.data} series={series} phase={phase} />
      <Tabs id={id} tab={tab} />
      {metrics.isError && (
        <Failure title="Could not load curves" error={metrics.error} retry={() => void metrics.refetch()} />
      )}
      {stopped && notices}
      {tab === undefined && <AnswerRow series={series} live={!isFinal(job.data.status)} />}
      {!stopped && notices}
      {tab === undefined && <JobLabels key={id} job={job.data} />}
      {children(job.data, series)}
    </Page>
  );
}
