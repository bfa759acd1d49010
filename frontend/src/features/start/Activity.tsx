import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Job } from "@/api/jobs";
import { countsQuery } from "@/api/project";
import { workersQuery } from "@/api/workers";
import { ago } from "@/lib/format";
import styles from "./Activity.module.css";
import { outcomes, queueLine, workerStates } from "./activity";

const RECENT = 4;
const MARKS = { ok: "✓", warn: "!", bad: "✕", info: "i" } as const;

const JobLink = ({ job }: { job: Pick<Job, "id" | "name"> }) => (
  <Link to="/jobs/$id" params={{ id: job.id }}>
    {job.name}
  </Link>
);

/** What the workers do, and how the newest jobs ended. */
export function Activity({ jobs }: { jobs: readonly Job[] }) {
  const workers = workerStates(useQuery(workersQuery).data?.data ?? [], jobs);
  const counts = useQuery(countsQuery).data;
  const results = outcomes(jobs, RECENT);
  return (
    <div className={styles.activity}>
      <section className={styles.card} aria-labelledby="start-workers">
        <h2 id="start-workers">Workers</h2>
        <ul>
          {workers.map(({ id, name, state, job }) => (
            <li key={id}>
              <b>{name}</b>
              <span>
                {job && (
                  <>
                    <JobLink job={job} />,{" "}
                  </>
                )}
                {state}
              </span>
            </li>
          ))}
        </ul>
        <p>
          {workers.length === 0
            ? "No trainer is online: jobs wait."
            : queueLine(jobs, counts?.unfinished_jobs ?? 0)}
        </p>
      </section>
      {results.length > 0 && (
        <section className={styles.card} aria-labelledby="start-results">
          <h2 id="start-results">Recent results</h2>
          <ul>
            {results.map(({ job, tone, text, at }) => (
              <li key={job.id} className={styles.result}>
                <i data-tone={tone} aria-hidden="true">
                  {MARKS[tone]}
                </i>
                <span>
                  <JobLink job={job} />
                  {at && <small> {ago(at)}</small>}
                  <br />
                  {text}
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
    </div>
  );
}
