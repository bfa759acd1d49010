import { Button, Progress } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type Flip, type Replay, type ReplayReport, replayQuery, useCancelReplay } from "@/api/replays";
import type { RewardDetail } from "@/api/rewards";
import { STEPS } from "@/components/chart/axis";
import { Chart } from "@/components/chart/Chart";
import type { ChartLine } from "@/components/chart/model";
import { type ChartSpace, ChartSpaceProvider } from "@/components/chart/space";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { SkeletonCard } from "@/components/Skeleton";
import { count, number, reward as rewardText, tick } from "@/lib/format";
import { ApplyChange } from "./ApplyChange";
import styles from "./Replay.module.css";
import { replacedBy, replayFacts, replayVerdict } from "./replay-words";

type Props = { id: string; reward: RewardDetail; refusal: string | null };

const nothing = () => {};
const HELP = {
  text: "Mean reward of the job's saved completions at each step, under the revision of the job and under the other one.",
  guide: "/guide/evaluation#replay-what-would-another-revision-have-said",
};

/** Means by step, as the job's revision and as the other one have it. */
function Curves({ replay, report }: { replay: Replay; report: ReplayReport }) {
  const { steps, old_mean, new_mean } = report;
  const name = replacedBy(replay);
  const lines = useMemo<ChartLine[]>(
    () => [
      { label: "as in the job", color: "c2", dash: true, source: { steps, values: old_mean } },
      { label: name, color: "c1", source: { steps, values: new_mean } },
    ],
    [steps, old_mean, new_mean, name],
  );
  const space = useMemo<ChartSpace>(
    () => ({
      axis: STEPS,
      lastStep: Math.max(1, ...steps.slice(-1)),
      current: null,
      range: null,
      smoothing: 0,
      log: false,
      sync: `replay ${replay.id}`,
      name: `replay ${replay.id}`,
      onZoom: nothing,
      onBack: nothing,
      onReset: nothing,
    }),
    [steps, replay.id],
  );
  const mean = (values: readonly number[]) => values.reduce((sum, one) => sum + one, 0) / values.length;
  const summary =
    steps.length === 0
      ? "Nothing to compare."
      : `Mean over all steps: ${number(mean(new_mean))}, was ${number(mean(old_mean))}.`;
  return (
    <ChartSpaceProvider value={space}>
      <Chart
        title="Mean reward"
        help={HELP}
        unit="per step"
        lines={lines}
        min={0}
        max={1}
        height={190}
        format={rewardText}
        tick={tick}
        summary={summary}
      />
    </ChartSpaceProvider>
  );
}

const FIRST = 12;

/** Completions that pass under one of the two only; those that changed most first. */
function Flips({ job, report }: { job: string; report: ReplayReport }) {
  const [all, setAll] = useState(false);
  const { shown_flips: flips } = report;
  if (flips.length === 0) return null;
  const columns: Column<Flip>[] = [
    {
      head: "Completion",
      cell: (one) => (
        <Link
          to="/jobs/$id"
          params={{ id: job }}
          search={{ tab: "completions", step: one.step, prompt: one.prompt_no, sample: one.sample_no }}
          data-row
        >
          step {one.step}, prompt {one.prompt_no + 1}, #{one.sample_no + 1}
        </Link>
      ),
    },
    { head: "Before", align: "right", cell: (one) => number(one.old) },
    { head: "After", align: "right", cell: (one) => <b>{number(one.new)}</b> },
    { head: "Text", grow: true, hide: "narrow", cell: (one) => <span dir="auto">{one.text}</span> },
  ];
  return (
    <section aria-label="Flips" className={styles.earlier}>
      <h2>
        {report.flips > flips.length
          ? `The ${count(flips.length, "largest flip")} of ${number(report.flips, 6)}`
          : count(flips.length, "flip")}
      </h2>
      <DataTable
        label="Completions whose result changes"
        columns={columns}
        rows={all ? flips : flips.slice(0, FIRST)}
        rowKey={(one) => `${one.step} ${one.prompt_no} ${one.sample_no}`}
      />
      {!all && flips.length > FIRST && (
        <Button variant="default" className={styles.more} onClick={() => setAll(true)}>
          Show all {flips.length}
        </Button>
      )}
    </section>
  );
}

function Running({ replay, refusal }: { replay: Replay; refusal: string | null }) {
  const cancel = useCancelReplay(replay.id);
  return (
    <div className={styles.running}>
      <Progress value={(100 * replay.done) / Math.max(1, replay.total)} aria-label="Replay" />
      <p role="status">
        {number(replay.done, 6)} of about {count(replay.total, "completion")} scored.
      </p>
      <GatedButton
        variant="default"
        size="compact-sm"
        refusal={refusal}
        loading={cancel.isPending}
        onClick={() => cancel.mutate()}
      >
        Cancel the replay
      </GatedButton>
      {cancel.error && <Failure title="Could not cancel the replay" error={cancel.error} />}
    </div>
  );
}

/** One replay from its start to what it found, and the way into the running job. */
export function ReplayView({ id, reward, refusal }: Props) {
  const query = useQuery(replayQuery(id));
  const replay = query.data;
  if (query.isError && !replay) {
    return (
      <Failure title="Could not load the replay" error={query.error} retry={() => void query.refetch()} />
    );
  }
  if (!replay) return <SkeletonCard height={220} label="Loading the replay" />;
  if (replay.status === "running") return <Running replay={replay} refusal={refusal} />;
  const { report, error } = replay;
  if (!report) {
    return (
      <Notice
        tone={error ? "bad" : "info"}
        title={replay.status === "cancelled" ? "Replay cancelled" : "Replay failed"}
      >
        {error ? `${error.message} ${error.hint ?? ""}` : "You can start it again."}
      </Notice>
    );
  }
  return (
    <section aria-label="Replay results" className={styles.found}>
      <p className={styles.said} role="status">
        <b>{replacedBy(replay)}</b>: {replayVerdict(report)}
      </p>
      {replay.revision != null && replay.stored === reward.id && (
        <ApplyChange replay={replay} revision={replay.revision} refusal={refusal} />
      )}
      <Curves replay={replay} report={report} />
      <dl className={styles.facts}>
        {replayFacts(report).map(({ name, text, note }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {text}
              <small>{note}</small>
            </dd>
          </div>
        ))}
      </dl>
      <Flips job={replay.job} report={report} />
    </section>
  );
}
