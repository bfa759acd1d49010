import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccess } from "@/api/access";
import { datasetsQuery } from "@/api/datasets";
import { jobListQuery } from "@/api/job-list";
import { isFinal, type Job, type JobStatus, jobQuery } from "@/api/jobs";
import { countsQuery } from "@/api/project";
import { rewardsQuery } from "@/api/rewards";
import { ButtonLink } from "@/components/ButtonLink";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { SkeletonCard } from "@/components/Skeleton";
import { Activity } from "./Activity";
import { JobCard } from "./JobCard";
import { NextSteps } from "./NextSteps";
import { NoWorker } from "./NoWorker";
import styles from "./Start.module.css";
import { StartDemo } from "./StartDemo";
import { Steps } from "./Steps";
import { stepsOf } from "./steps";

const NEWEST = 8;
const LARGE = 2;
/** Nothing to look at yet: a row in the table says it all. */
const WAITING: ReadonlySet<JobStatus> = new Set(["validating", "queued", "paused"]);

function eyebrowOf({ status }: Job): string {
  if (status === "succeeded") return "Example: a finished job";
  if (status === "failed" || status === "paused") return "The demo job stopped; see its page for the reason";
  return isFinal(status) ? "The demo job was cancelled" : "Example: the demo job is running";
}

/** The first screen: the demo and three steps in a new project; what runs and what came last in a used one. */
export function Start({
  table,
  examples,
}: {
  table: (jobs: readonly Job[]) => ReactNode;
  examples: ReactNode;
}) {
  const { refusal } = useAccess();
  const counts = useQuery(countsQuery).data;
  const jobs = useInfiniteQuery(jobListQuery({}, NEWEST));
  const { data: demo, isError: demoLost } = useQuery({
    ...jobQuery(counts?.demo_job ?? ""),
    enabled: Boolean(counts?.demo_job),
  });
  const datasets = useQuery(datasetsQuery).data?.data;
  const rewards = useQuery(rewardsQuery).data?.data;

  const newest = jobs.data?.pages[0]?.data;
  const own = newest?.filter((job) => job.id !== counts?.demo_job);
  const demoJob = newest?.find((job) => job.id === counts?.demo_job) ?? demo;
  const moving = own?.filter(({ status }) => !isFinal(status) && !WAITING.has(status)).slice(0, LARGE) ?? [];
  // What the demo brought along is known from its specification, which only the job itself tells.
  const demoSettled = counts !== undefined && (!counts.demo_job || demo !== undefined || demoLost);
  const ready = newest !== undefined && datasets !== undefined && rewards !== undefined && demoSettled;

  const body = () => {
    if (jobs.isError && !newest)
      return <Failure title="Could not load jobs" error={jobs.error} retry={() => void jobs.refetch()} />;
    if (!ready || !own) return <SkeletonCard height={226} label="Loading jobs" />;
    if (own.length > 0) {
      return (
        <>
          {moving.map((job) => (
            <JobCard key={job.id} job={job} open="Open" />
          ))}
          <Activity jobs={newest} />
          <div className={styles.section}>
            <div className={styles.line}>
              <h2>Newest jobs</h2>
              <Link to="/jobs">All jobs</Link>
            </div>
            {table(newest)}
          </div>
          {refusal === null && <NextSteps jobs={own.length} />}
        </>
      );
    }
    return (
      <>
        {demoJob ? (
          <JobCard
            job={demoJob}
            eyebrow={eyebrowOf(demoJob)}
            open={isFinal(demoJob.status) ? "Open" : "Open"}
          />
        ) : (
          <StartDemo />
        )}
        <section aria-labelledby="steps" className={styles.section}>
          <h2 id="steps">Start your own job</h2>
          <Steps
            label="Three steps to your own job"
            steps={stepsOf(demo, datasets, rewards, own.length)}
            mayChange={refusal === null}
          />
        </section>
        <section aria-labelledby="examples" className={styles.section}>
          <h2 id="examples">Start from an example</h2>
          {examples}
        </section>
      </>
    );
  };

  return (
    <Page
      title="Start"
      actions={
        !refusal &&
        own &&
        own.length > 0 && (
          <>
            <ButtonLink to="/jobs/new" search={{ examples: true }} variant="default">
              Start from an example
            </ButtonLink>
            <ButtonLink to="/jobs/new">New job</ButtonLink>
          </>
        )
      }
    >
      <div className={styles.stack}>
        <NoWorker />
        {body()}
      </div>
    </Page>
  );
}
