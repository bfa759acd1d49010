import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { useAccess } from "@/api/access";
import { contentAddress, type Dataset, datasetQuery, useDeleteDataset } from "@/api/datasets";
import { jobsUsingQuery } from "@/api/jobs-using";
import { ButtonLink } from "@/components/ButtonLink";
import { Confirm } from "@/components/Confirm";
import { Crumb } from "@/components/Crumb";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { JobsUsing } from "@/components/JobsUsing";
import { Page, Tag } from "@/components/Page";
import { TabNav } from "@/components/TabNav";
import { ago, bytes, count } from "@/lib/format";
import { DatasetNotes } from "./DatasetNotes";
import styles from "./DatasetPage.module.css";
import type { DatasetPlace, OnPlace } from "./place";
import { RowsTab } from "./RowsTab";

const PromptsTab = lazy(() => import("./PromptsTab"));
const ReportTab = lazy(() => import("./ReportTab"));

type ActionsProps = { dataset: Dataset; refusal: string | null; onDeleted: () => void };

function Actions({ dataset, refusal, onDeleted }: ActionsProps) {
  const [asking, { open, close }] = useDisclosure(false);
  const remove = useDeleteDataset();
  const jobs = dataset.jobs ?? 0;
  return (
    <>
      <Menu position="bottom-end" transitionProps={{ duration: 100 }}>
        <Menu.Target>
          <Button variant="default">File</Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item component="a" href={contentAddress(dataset.id)} download={dataset.filename}>
            Download {dataset.filename} ({bytes(dataset.bytes)})
          </Menu.Item>
          <Menu.Item color="var(--bad)" disabled={refusal !== null} onClick={open}>
            Delete dataset…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {refusal ? (
        <GatedButton refusal={refusal}>Use in a job</GatedButton>
      ) : (
        <>
          <ButtonLink to="/rewards/new" search={{ dataset: dataset.id }} variant="default">
            Write a reward
          </ButtonLink>
          <ButtonLink to="/jobs/new" search={{ dataset: dataset.id }}>
            Use in a job
          </ButtonLink>
        </>
      )}
      <Confirm
        opened={asking}
        onClose={close}
        title={`Delete ${dataset.name}?`}
        action="Delete dataset"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate(dataset.id, { onSuccess: onDeleted })}
      >
        The {count(dataset.rows, "row")} and its prompt settings are deleted from this server. This cannot be
        undone.{" "}
        {jobs > 0 &&
          `${count(jobs, "job")} used it. They keep their curves and completions but cannot be restarted with the same data.`}
      </Confirm>
    </>
  );
}

function JobsTab({ id }: { id: string }) {
  const jobs = useQuery(jobsUsingQuery({ dataset: id }));
  const rows = jobs.data?.data;
  if (jobs.isError && !rows) {
    return <Failure title="Could not load jobs" error={jobs.error} retry={() => void jobs.refetch()} />;
  }
  if (rows?.length === 0) {
    return (
      <Empty
        title="No jobs yet"
        action={
          <ButtonLink to="/jobs/new" search={{ dataset: id }}>
            Use in a job
          </ButtonLink>
        }
      >
        Jobs that train or evaluate on this dataset are listed here.
      </Empty>
    );
  }
  return <JobsUsing label="Jobs using the dataset" jobs={rows} />;
}

type Props = { id: string; place: DatasetPlace; onPlace: OnPlace; onDeleted: () => void };

/** One dataset: its rows, the prompts they become, and who uses them. */
export function DatasetPage({ id, place, onPlace, onDeleted }: Props) {
  const query = useQuery(datasetQuery(id));
  const { refusal } = useAccess();
  const dataset = query.data;
  const [applied, setApplied] = useState(0);
  const crumbs = [
    <Link key="datasets" to="/datasets">
      Datasets
    </Link>,
    <Crumb key="dataset" id={id} name={dataset?.name} />,
  ];
  const meta = dataset ? (
    <>
      <Tag>{count(dataset.rows, "row")}</Tag>
      <Tag>{dataset.format.toUpperCase()}</Tag>
      <Tag>{bytes(dataset.bytes)}</Tag>
      <Tag>used by {count(dataset.jobs ?? 0, "job")}</Tag>
      <span>uploaded {ago(dataset.created_at)}</span>
    </>
  ) : (
    <Tag>…</Tag>
  );
  const tab = (name: DatasetPlace["tab"], label: ReactNode) => (
    <Link
      to="/datasets/$id"
      params={{ id }}
      search={{ ...place, tab: name }}
      activeOptions={{ includeSearch: true, explicitUndefined: true }}
    >
      {label}
    </Link>
  );
  return (
    <Page
      title={dataset?.name ?? "Dataset"}
      crumbs={crumbs}
      meta={meta}
      actions={dataset && <Actions dataset={dataset} refusal={refusal} onDeleted={onDeleted} />}
    >
      {query.isError && !dataset ? (
        <Failure title="Could not load the dataset" error={query.error} retry={() => void query.refetch()} />
      ) : (
        <>
          <TabNav label="Dataset sections">
            {tab(undefined, "Rows")}
            {tab("prompts", "Prompts")}
            {tab("report", "Duplicates")}
            {tab("jobs", "Used in")}
          </TabNav>
          <div className={styles.stack}>
            {dataset && (
              <DatasetNotes
                dataset={dataset}
                refusal={refusal}
                toPrompts={place.tab !== "prompts" && tab("prompts", "Choose the columns")}
                onApplied={() => setApplied((times) => times + 1)}
              />
            )}
            {place.tab === "jobs" && <JobsTab id={id} />}
            {place.tab === "prompts" && dataset && (
              <Suspense fallback={<div className={styles.waiting} aria-busy="true" />}>
                <PromptsTab
                  key={applied}
                  dataset={dataset}
                  refusal={refusal}
                  place={place}
                  onPlace={onPlace}
                />
              </Suspense>
            )}
            {place.tab === "report" && dataset && (
              <Suspense fallback={<div className={styles.waiting} aria-busy="true" />}>
                <ReportTab dataset={dataset} place={place} onPlace={onPlace} />
              </Suspense>
            )}
            {place.tab === undefined && <RowsTab id={id} dataset={dataset} place={place} onPlace={onPlace} />}
          </div>
        </>
      )}
    </Page>
  );
}
