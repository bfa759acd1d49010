import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { lazy, Suspense, useState } from "react";
import { useAccess } from "@/api/access";
import { type JobFilter, jobListQuery, SETTING } from "@/api/job-list";
import { ButtonLink } from "@/components/ButtonLink";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { JobFilters } from "./JobFilters";
import styles from "./JobList.module.css";
import { JobTable } from "./JobTable";
import { ListChoices } from "./ListChoices";

const BulkActions = lazy(() => import("./BulkActions"));

const NEWEST = "-created";

type Props = { filter: JobFilter; onFilter: (filter: JobFilter) => void };

/** All jobs of the project, newest first. */
export function JobList({ filter, onFilter }: Props) {
  const { refusal } = useAccess();
  const jobs = useInfiniteQuery(jobListQuery(filter));
  const rows = jobs.data?.pages.flatMap((page) => page.data);
  const { by, group, columns, ...narrowing } = filter;
  const narrowed = Object.values(narrowing).some((value) => value !== undefined);
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const toggle = (id: string) =>
    setIds((before) => new Set(before.has(id) ? [...before].filter((one) => one !== id) : [...before, id]));
  const selected = rows?.filter((job) => ids.has(job.id)) ?? [];
  const newJob = refusal ? (
    <GatedButton refusal={refusal}>New job</GatedButton>
  ) : (
    <ButtonLink to="/jobs/new">New job</ButtonLink>
  );
  const untouched = rows?.length === 0 && !narrowed && !jobs.isPlaceholderData;

  return (
    <Page title="Jobs" actions={(rows ? !untouched : jobs.isError) && newJob}>
      {!untouched && <JobFilters filter={filter} onFilter={onFilter} />}
      {!untouched && <ListChoices filter={filter} onFilter={onFilter} />}
      {selected.length > 0 && (
        <Suspense>
          <BulkActions jobs={selected} onClear={() => setIds(new Set())}>
            {selected.length > 1 && (
              <ButtonLink to="/compare" search={{ jobs: selected.map(({ id }) => id).join(",") }}>
                Compare {selected.length}
              </ButtonLink>
            )}
          </BulkActions>
        </Suspense>
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
            <Button variant="default" onClick={() => onFilter({ by, group, columns })}>
              Show all jobs
            </Button>
          }
        >
          {filter.q ? `No job name or ID contains "${filter.q}"` : "No job fits these filters"}
          {filter.state ? ` with status ${filter.state}.` : "."}
        </Empty>
      ) : (
        <JobTable
          jobs={rows}
          expected={8}
          keys
          selection={{ ids, onToggle: toggle }}
          columns={columns}
          group={group}
          order={{
            sort: group ? `${SETTING}${group}` : (by ?? NEWEST),
            onSort: (next) =>
              onFilter({ ...filter, group: undefined, by: next === NEWEST ? undefined : next }),
          }}
        />
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
