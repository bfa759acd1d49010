import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { comparisonQuery, type Moment } from "@/api/compare";
import { ButtonLink } from "@/components/ButtonLink";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import styles from "./Compare.module.css";
import { ComparedJobs } from "./ComparedJobs";
import { Overlay } from "./Overlay";
import { type ComparePlace, idsOf, MOST_JOBS, withBaseline } from "./place";
import { SettingsTable } from "./SettingsTable";

const MOMENTS: { value: Moment; label: string }[] = [
  { value: "last", label: "Newest evaluation" },
  { value: "best", label: "Best checkpoint" },
];

type Props = { place: ComparePlace; onPlace: (place: ComparePlace) => void };

/** Jobs beside each other: verdicts, held-out rewards, curves and settings that differ. */
export function ComparePage({ place, onPlace }: Props) {
  const ids = idsOf(place.jobs);
  const at = place.at ?? "last";
  const possible = ids.length >= 2 && ids.length <= MOST_JOBS;
  const { data, error, refetch } = useQuery({ ...comparisonQuery(ids, at), enabled: possible });
  if (!possible)
    return (
      <Page title="Compare jobs">
        <Empty title="Select 2 to 50 jobs" picture="jobs" action={<ButtonLink to="/jobs">Jobs</ButtonLink>}>
          Tick jobs in the list and choose Compare.
        </Empty>
      </Page>
    );
  return (
    <Page title="Compare jobs">
      {error && !data ? (
        <Failure title="Could not compare the jobs" error={error} retry={() => void refetch()} />
      ) : (
        <>
          <SegmentedControl
            className={styles.moment}
            aria-label="Evaluation"
            size="sm"
            data={MOMENTS}
            value={at}
            onChange={(value) => onPlace({ ...place, at: value === "best" ? "best" : undefined })}
          />
          {data && (
            <ul className={styles.verdicts}>
              {data.jobs.map(
                ({ id, verdict, notes }) =>
                  verdict && (
                    <li key={id}>
                      {verdict}
                      {notes.map((note) => (
                        <small key={note}>{note}</small>
                      ))}
                    </li>
                  ),
              )}
            </ul>
          )}
          <ComparedJobs
            comparison={data}
            expected={ids.length}
            onBaseline={(id) => onPlace({ ...place, jobs: withBaseline(ids, id) })}
          />
          {data && (
            <>
              <h2 className={styles.head}>Curves</h2>
              <Overlay
                jobs={data.jobs}
                metric={place.metric}
                onMetric={(metric) => onPlace({ ...place, metric })}
              />
              <h2 className={styles.head}>Settings that differ</h2>
              <SettingsTable comparison={data} />
            </>
          )}
        </>
      )}
    </Page>
  );
}
