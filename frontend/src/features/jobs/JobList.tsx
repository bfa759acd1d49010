import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Job, jobsQuery } from "@/api/jobs";
import { ButtonLink } from "@/components/ButtonLink";
import { Change } from "@/components/Change";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { ago, duration, NOTHING, reward, signed } from "@/lib/format";
import styles from "./JobList.module.css";

function heldOut(job: Job) {
  const { held_out_reward: now, held_out_reward_before: before } = job;
  if (now == null) return <span className={styles.faint}>{NOTHING}</span>;
  if (before == null) return reward(now);
  return (
    <span className={styles.heldOut}>
      <span className={styles.faint}>{reward(before)} →</span> <b>{reward(now)}</b>{" "}
      <Change value={now - before} text={signed(now - before)} better="higher" />
    </span>
  );
}

function took(job: Job): string {
  if (!job.started_at) return NOTHING;
  const end = job.finished_at ? Date.parse(job.finished_at) : Date.now();
  return duration((end - Date.parse(job.started_at)) / 1000);
}

const COLUMNS: Column<Job>[] = [
  {
    head: "Job",
    grow: true,
    cell: (job) => (
      <Link to="/jobs/$id" params={{ id: job.id }} data-row>
        {job.name}
      </Link>
    ),
  },
  { head: "State", cell: (job) => <StatePill state={job.status} /> },
  { head: "Model", cell: (job) => job.model },
  {
    head: "Step",
    align: "right",
    cell: ({ progress }) => (
      <span className={styles.steps}>
        {progress.step} of {progress.steps}
        <progress max={progress.steps} value={progress.step} aria-label="Steps done" />
      </span>
    ),
  },
  { head: "Held-out reward", align: "right", cell: heldOut },
  { head: "Created", align: "right", cell: (job) => ago(job.created_at) },
  { head: "Took", align: "right", cell: took },
];

const newJob = <ButtonLink to="/jobs/new">New job</ButtonLink>;

/** All jobs of the project, newest first. */
export function JobList() {
  const jobs = useInfiniteQuery(jobsQuery());
  const rows = jobs.data?.pages.flatMap((page) => page.data);
  return (
    <Page title="Jobs" actions={newJob}>
      {jobs.isError && !rows ? (
        <Failure title="Jobs could not be loaded" error={jobs.error} retry={() => void jobs.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No jobs yet" action={newJob}>
          A job takes a dataset of prompts and a reward function, and trains an adapter. Its curves,
          completions and checkpoints appear here while it runs.
        </Empty>
      ) : (
        <DataTable label="Jobs" columns={COLUMNS} rows={rows} rowKey={(job) => job.id} />
      )}
      {jobs.hasNextPage && (
        <div className={styles.more}>
          <Button
            variant="default"
            loading={jobs.isFetchingNextPage}
            onClick={() => void jobs.fetchNextPage()}
          >
            Older jobs
          </Button>
        </div>
      )}
    </Page>
  );
}
