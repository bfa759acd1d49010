import { NativeSelect, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { comparisonQuery, type JobComparison, type Moment, SEEDS } from "@/api/compare";
import { ButtonLink } from "@/components/ButtonLink";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import styles from "./Compare.module.css";
import { ComparedJobs } from "./ComparedJobs";
import { Curves } from "./Curves";
import { GroupTable } from "./GroupTable";
import { type ComparePlace, idsOf, MOST_JOBS, withBaseline } from "./place";
import { SharedPrompts } from "./prompts/SharedPrompts";
import { SettingsTable } from "./SettingsTable";
import { Verdicts } from "./Verdicts";

const MOMENTS: { value: Moment; label: string }[] = [
  { value: "last", label: "Newest evaluation" },
  { value: "best", label: "Best checkpoint" },
];

type Props = { place: ComparePlace; onPlace: (place: ComparePlace) => void };

/** What the jobs can be grouped by: settings that differ, seeds, and what the address says. */
function groupChoices(comparison: JobComparison | undefined, group: string | undefined) {
  const paths = comparison?.settings.map(({ path }) => path) ?? [];
  if (group && group !== SEEDS && !paths.includes(group)) paths.push(group);
  return [
    { value: "", label: "Nothing" },
    { value: SEEDS, label: "Seeds (other settings equal)" },
    ...paths.map((path) => ({ value: path, label: path })),
  ];
}

/** Jobs beside each other: verdicts, held-out rewards, curves, completions and settings that differ. */
export function ComparePage({ place, onPlace }: Props) {
  const ids = idsOf(place.jobs);
  const at = place.at ?? "last";
  const possible = ids.length >= 2 && ids.length <= MOST_JOBS;
  const { data, error, refetch } = useQuery({
    ...comparisonQuery(ids, at, place.group),
    enabled: possible,
  });
  const go = (change: Partial<ComparePlace>) => onPlace({ ...place, ...change });
  if (!possible)
    return (
      <Page title="Compare jobs">
        <Empty title="Select 2 to 50 jobs" picture="jobs" action={<ButtonLink to="/jobs">Jobs</ButtonLink>}>
          Tick jobs in the list and choose Compare.
        </Empty>
      </Page>
    );
  const grouped = data && (data.groups?.length ?? 0) > 0;
  return (
    <Page title="Compare jobs">
      <div className={styles.controls}>
        <SegmentedControl
          aria-label="Evaluation"
          size="sm"
          data={MOMENTS}
          value={at}
          onChange={(value) => go({ at: value === "best" ? "best" : undefined })}
        />
        <div className={styles.group}>
          <label htmlFor="compare-group">Group by</label>
          <NativeSelect
            id="compare-group"
            value={place.group ?? ""}
            data={groupChoices(data, place.group)}
            onChange={(event) => go({ group: event.currentTarget.value || undefined })}
          />
        </div>
      </div>
      {error && <Failure title="Could not compare the jobs" error={error} retry={() => void refetch()} />}
      {data && <Verdicts comparison={data} />}
      {grouped && (
        <div className={styles.groups}>
          <GroupTable comparison={data} />
        </div>
      )}
      {(data || !error) && (
        <ComparedJobs
          comparison={data}
          expected={ids.length}
          onBaseline={(id) => go({ jobs: withBaseline(ids, id) })}
        />
      )}
      {data && (
        <>
          <h2 className={styles.head}>Curves</h2>
          <Curves comparison={data} place={place} onPlace={go} />
          <h2 className={styles.head}>The same prompts</h2>
          <SharedPrompts comparison={data} place={place} onPlace={go} />
          <h2 className={styles.head}>Settings that differ</h2>
          <SettingsTable comparison={data} />
        </>
      )}
    </Page>
  );
}
