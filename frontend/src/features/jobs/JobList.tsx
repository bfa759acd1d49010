import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type JobFilter, jobListQuery } from "@/api/job-list";
import { ButtonLink } from "@/components/ButtonLink";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { count } from "@/lib/format";
import { JobFilters } from "./JobFilters";
import styles from "./JobList.module.css";
import { JobTable } from "./JobTable";

type Props = { filter: JobFilter; onFilter: (filter: JobFilter) => void };

/** All jobs of the project, newest first. */
export function JobList({ filter, onFilter }: Props) {
  const { refusal } = useAccess();
  const jobs = useInfiniteQuery(jobListQuery(filter));
  const rows = jobs.data?.pages.flatMap((page) => page.data);
  const narrowed = filter.state !== undefined || filter.q !== undefined;
  const newJob = refusal ? (
    <GatedButton refusal={refusal}>New job</GatedButton>
  ) : (
    <ButtonLink to="/jobs/new">New job</ButtonLink>
  );
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) =>
    setSelected((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]),
    );
  const untouched = rows?.length === 0 && !narrowed && !jobs.isPlaceholderData;

  return (
    <Page title="Jobs" actions={(rows ? !untouched : jobs.isError) && newJob}>
      {!untouched && <JobFilters filter={filter} onFilter={onFilter} />}
      {selected.size > 0 && (
        <div className={styles.bulk} role="status">
          <span>{count(selected.size, "job")} selected</span>
          {selected.size > 1 ? (
            <ButtonLink to="/compare" search={{ jobs: [...selected].join(",") }}>
              Compare
            </ButtonLink>
          ) : (
            <span>Select another one to compare.</span>
          )}
          <Button variant="default" onClick={() => setSelected(new Set())}>
            Clear
          </Button>
        </div>
      )}
      {jobs.isError && !rows ? (
        <Failure title="Could not load jobs" error={jobs.error} retry={() => void jobs.refetch()} />
      ) : untouched ? (
        <Empty title="No jobs yet" picture="jobs" action={newJob}>
          A job trains an adapter on a dataset of prompts with a reward. Its curves, completions and
          checkpoints appear while it runs.
        </Empty>
      ) : rows?.length === 0 ? (
        <Empty
          title="No matching jobs"
          picture="jobs"
          action={
            <Button variant="default" onClick={() => onFilter({})}>
              Show all jobs
            </Button>
          }
        >
          {filter.q ? `No job name or ID contains "${filter.q}"` : "There is no job"}
          {filter.state ? ` with status ${filter.state}.` : "."}
        </Empty>
      ) : (
        <JobTable jobs={rows} expected={8} keys selection={{ ids: selected, onToggle: toggle }} />
      )}
      {jobs.hasNextPage && (
        <div className={styles.more}>
          <Button
            variant="default"
            loading={jobs.isFetchingNextPage}
            onClick={() => void jobs.fetchNextPage()}
          >
            Load more
          </Button>
        </div>
      )}
    </Page>
  );
}
