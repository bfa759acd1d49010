import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Adapter, adaptersQuery } from "@/api/adapters";
import { jobsUsingQuery } from "@/api/jobs-using";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { JobsUsing } from "@/components/JobsUsing";
import { ago, bytes, reward } from "@/lib/format";
import styles from "./Models.module.css";

const MOST_JOBS = 10;

const ADAPTERS: Column<Adapter>[] = [
  {
    head: "Adapter",
    grow: true,
    cell: (one) =>
      one.job ? (
        <Link to="/jobs/$id" params={{ id: one.job }} search={{ tab: "checkpoints" }} data-row>
          {one.name}
        </Link>
      ) : (
        <>
          {one.name} <small>uploaded</small>
        </>
      ),
  },
  { head: "Held-out reward", align: "right", cell: (one) => reward(one.held_out_reward) },
  { head: "Size", hide: "narrow", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Created", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
];

function Jobs({ model }: { model: string }) {
  const jobs = useQuery(jobsUsingQuery({ model }));
  const rows = jobs.data?.data;
  if (jobs.isError && !rows)
    return <Failure title="Could not load jobs" error={jobs.error} retry={() => void jobs.refetch()} />;
  if (rows?.length === 0) return <p className={styles.faint}>No jobs on this model yet.</p>;
  return (
    <>
      <JobsUsing label="Jobs on the model" jobs={rows?.slice(0, MOST_JOBS)} />
      {rows && rows.length > MOST_JOBS && (
        <Link to="/jobs" search={{ model }}>
          Show all jobs on it
        </Link>
      )}
    </>
  );
}

function Adapters({ model }: { model: string }) {
  const adapters = useQuery(adaptersQuery);
  const rows = adapters.data?.data.filter((one) => one.model === model);
  if (adapters.isError && !rows)
    return (
      <Failure title="Could not load adapters" error={adapters.error} retry={() => void adapters.refetch()} />
    );
  if (rows?.length === 0) return <p className={styles.faint}>No adapters on this model yet.</p>;
  return <DataTable label="Adapters on the model" columns={ADAPTERS} rows={rows} rowKey={(one) => one.id} />;
}

/** The jobs that train on a base model, and the adapters on it. */
export function ModelUses({ model }: { model: string }) {
  return (
    <>
      <section className={styles.uses} aria-labelledby="part-jobs">
        <h2 id="part-jobs">Jobs</h2>
        <Jobs model={model} />
      </section>
      <section className={styles.uses} aria-labelledby="part-adapters">
        <h2 id="part-adapters">Adapters</h2>
        <Adapters model={model} />
      </section>
    </>
  );
}
