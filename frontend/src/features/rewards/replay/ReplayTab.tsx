import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { replaysQuery, useStartReplay } from "@/api/replays";
import type { RewardDetail } from "@/api/rewards";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { SkeletonCard } from "@/components/Skeleton";
import { StatePill } from "@/components/StatePill";
import { ago, number } from "@/lib/format";
import type { OnPlace, RewardPlace } from "../place";
import { useRewardJobs } from "../RewardJobs";
import styles from "./Replay.module.css";
import { ReplayView } from "./ReplayView";
import { replacedBy } from "./replay-words";

type Props = {
  reward: RewardDetail;
  unsaved: { source: string; entry: string | null } | null;
  place: RewardPlace;
  onPlace: OnPlace;
  refusal: string | null;
};

const UNSAVED = "unsaved";

/** Earlier replays of the job under this reward's name there. */
function Earlier({
  job,
  name,
  place,
  reward,
}: {
  job: string;
  name: string;
  place: RewardPlace;
  reward: string;
}) {
  const query = useQuery(replaysQuery(job));
  const rows = query.data?.data.filter((one) => one.reward === name);
  if (query.isError && !rows) {
    return <Failure title="Could not load earlier replays" error={query.error} />;
  }
  if (!rows || rows.length === 0) return null;
  const columns: Column<(typeof rows)[number]>[] = [
    {
      head: "Replay",
      grow: true,
      cell: (one) => (
        <Link
          to="/rewards/$id"
          params={{ id: reward }}
          search={{ ...place, tab: "replay", job, replay: one.id }}
          resetScroll={false}
          data-row
          aria-current={one.id === place.replay || undefined}
        >
          {replacedBy(one)}
        </Link>
      ),
    },
    { head: "Status", cell: (one) => <StatePill state={one.status} /> },
    { head: "Rank correlation", align: "right", cell: (one) => number(one.report?.rank_correlation, 2) },
    { head: "Flips", align: "right", cell: (one) => number(one.report?.flips, 6) },
    { head: "By", hide: "narrow", cell: (one) => one.created_by },
    { head: "Started", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
  ];
  return (
    <section aria-label="Earlier replays" className={styles.earlier}>
      <h2>Replays of this job</h2>
      <DataTable label="Replays of this job" columns={columns} rows={rows} rowKey={(one) => one.id} />
    </section>
  );
}

/** Scores of a job's stored completions by another revision or by the source in the editor. */
export default function ReplayTab({ reward, unsaved, place, onPlace, refusal }: Props) {
  const { query, jobs, revisions, names } = useRewardJobs(reward.id);
  const start = useStartReplay();
  const [jobId, setJobId] = useState<string | null>(null);
  const job = jobs?.find((one) => one.id === place.job) ?? jobs?.[0];
  const name = job && names.get(job.id);
  const what = jobId ?? (unsaved ? UNSAVED : String(place.revision ?? reward.revision));

  if (query.isError && !jobs) {
    return <Failure title="Could not load jobs" error={query.error} retry={() => void query.refetch()} />;
  }
  if (!jobs) return <SkeletonCard height={120} label="Loading jobs" />;
  if (!job) {
    return (
      <Empty title="No jobs to replay yet">
        A replay scores the stored completions of a job with another revision. It compares curves and rankings
        and shows completions whose result changes. It needs a job that used this reward.
      </Empty>
    );
  }
  const run = () => {
    if (!name || start.isPending) return;
    const code =
      what === UNSAVED && unsaved
        ? { source: unsaved.source, entry: unsaved.entry }
        : { stored: reward.id, revision: what === UNSAVED ? reward.revision : Number(what) };
    start.mutate(
      { job: job.id, reward: name, ...code },
      { onSuccess: ({ id }) => onPlace({ job: job.id, replay: id }) },
    );
  };
  const used = revisions.get(job.id);
  return (
    <section aria-label="Replay" className={styles.replay}>
      <div className={styles.choice}>
        <NativeSelect
          label="Completions of"
          className={styles.job}
          value={job.id}
          onChange={(event) => onPlace({ job: event.currentTarget.value, replay: undefined })}
          data={jobs.map((one) => ({ value: one.id, label: `${one.name} · ${one.status}` }))}
        />
        <NativeSelect
          label={`Replaces ${used ? `revision ${used}` : "the revision in use"}`}
          value={what}
          onChange={(event) => setJobId(event.currentTarget.value)}
          data={[
            ...(unsaved ? [{ value: UNSAVED, label: "unsaved source" }] : []),
            ...reward.revisions
              .toSorted((a, b) => b.revision - a.revision)
              .map((one) => ({ value: String(one.revision), label: `revision ${one.revision}` })),
          ]}
        />
        <GatedButton
          refusal={refusal ?? (name ? null : "Loading the job.")}
          loading={start.isPending}
          onClick={run}
        >
          Replay
        </GatedButton>
      </div>
      <p className={styles.quiet}>
        About 2,000 stored completions are scored again, in complete groups from all steps. The job does not
        change.
      </p>
      {start.error && <Failure title="Could not start the replay" error={start.error} />}
      {place.replay && <ReplayView key={place.replay} id={place.replay} reward={reward} refusal={refusal} />}
      {name && <Earlier job={job.id} name={name} place={place} reward={reward.id} />}
    </section>
  );
}
