import { useQueries, useQuery } from "@tanstack/react-query";
import { type Job, type JobDetail, jobQuery } from "@/api/jobs";
import { jobsUsingQuery } from "@/api/jobs-using";
import { ButtonLink } from "@/components/ButtonLink";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { JobsUsing } from "@/components/JobsUsing";
import { NOTHING } from "@/lib/format";

const MOST_LOOKED_UP = 50;

type Used = { name?: string | null; reward?: string | null; revision?: number | null };

/** How a job used a reward: its name there, and the revision that the job was created with. */
function usedIn(job: JobDetail | undefined, reward: string): Used | undefined {
  const used = job?.resolved_spec?.rewards as Used[] | undefined;
  return used?.find((one) => one.reward === reward);
}

/** The newest jobs with this reward, the revision in each, and what each calls it. */
export function useRewardJobs(id: string) {
  const query = useQuery(jobsUsingQuery({ reward: id }));
  const jobs = query.data?.data;
  // A job's specification never changes: it is looked up once.
  const details = useQueries({
    queries: (jobs ?? [])
      .slice(0, MOST_LOOKED_UP)
      .map((job) => ({ ...jobQuery(job.id), staleTime: Number.POSITIVE_INFINITY })),
  });
  const used = (jobs ?? []).map(
    (job, i) => [job.id, usedIn(details[i]?.data as JobDetail | undefined, id)] as const,
  );
  return {
    query,
    jobs,
    revisions: new Map(used.map(([job, one]) => [job, one?.revision ?? null])),
    names: new Map(used.flatMap(([job, one]) => (one ? [[job, one.name ?? "reward"] as const] : []))),
  };
}

export function RewardJobs({ id }: { id: string }) {
  const { query, jobs, revisions } = useRewardJobs(id);
  if (query.isError && !jobs) {
    return <Failure title="Could not load jobs" error={query.error} retry={() => void query.refetch()} />;
  }
  if (jobs?.length === 0) {
    return (
      <Empty
        title="No jobs yet"
        action={
          <ButtonLink to="/jobs/new" search={{ reward: id }}>
            Use in a job
          </ButtonLink>
        }
      >
        Jobs that use this reward are listed here with the revision they started with.
      </Empty>
    );
  }
  const extra = {
    head: "Revision",
    align: "right" as const,
    cell: (job: Job) => revisions.get(job.id) ?? NOTHING,
  };
  return <JobsUsing label="Jobs using the reward" jobs={jobs} extra={extra} />;
}
