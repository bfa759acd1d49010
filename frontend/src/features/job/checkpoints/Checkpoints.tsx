import { Button, Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { useAccess } from "@/api/access";
import { checkpointDownloadUrl } from "@/api/adapters";
import { type Checkpoint, checkpointsQuery, isFinal, type JobDetail } from "@/api/jobs";
import { Change } from "@/components/Change";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { MenuLink } from "@/components/MenuLink";
import { Notice } from "@/components/Notice";
import { ago, bytes, reward, signed } from "@/lib/format";
import { getAt, type JsonObject } from "@/lib/paths";
import { ForkJob } from "../forks/ForkJob";
import { CheckpointNow } from "./CheckpointNow";
import styles from "./Checkpoints.module.css";
import { UseIt } from "./UseIt";
import { weightsOf } from "./weights";

type Props = {
  job: JobDetail;
  /** The step that is being tried, and the chat with it under the table. */
  trying: number | undefined;
  onTry: (step: number | undefined) => void;
  children?: ReactNode;
};

/** A checkpoint between the base and the best: two dots on a line. */
function Dots({ value, base, low, high }: { value: number; base: number | null; low: number; high: number }) {
  const x = (at: number) => 6 + (high > low ? (at - low) / (high - low) : 0.5) * 88;
  return (
    <svg className={styles.dots} viewBox="0 0 100 16" width="100" height="16" aria-hidden="true">
      <line x1="6" x2="94" y1="8" y2="8" stroke="var(--line)" />
      {base !== null && (
        <>
          <line x1={x(base)} x2={x(value)} y1="8" y2="8" stroke="var(--c1)" strokeWidth="2" />
          <circle cx={x(base)} cy="8" r="3.5" fill="var(--panel)" stroke="var(--ink3)" strokeWidth="1.5" />
        </>
      )}
      <circle cx={x(value)} cy="8" r="4" fill="var(--c1)" />
    </svg>
  );
}

function Marks({ one }: { one: Checkpoint }) {
  return (
    <span className={styles.marks}>
      {one.best && <b data-kind="best">★ best</b>}
      {one.final && <b>■ final</b>}
    </span>
  );
}

type MoreProps = { of: Checkpoint; job: string; refusal: string | null; onFork: () => void };

/** Where else a checkpoint can go. */
function More({ of, job, refusal, onFork }: MoreProps) {
  const label = `More for step ${of.step}`;
  const button = { variant: "default", size: "compact-sm", "aria-label": label } as const;
  if (refusal)
    return (
      <GatedButton refusal={refusal} {...button}>
        More
      </GatedButton>
    );
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button {...button}>More</Button>
      </Menu.Target>
      <Menu.Dropdown>
        {of.step > 0 && <Menu.Item onClick={onFork}>New job from here…</Menu.Item>}
        <MenuLink to="/deployments" search={{ from: of.id, job }}>
          Deploy…
        </MenuLink>
        <MenuLink to="/evaluations/new" search={{ from: of.id, job }}>
          Evaluate…
        </MenuLink>
      </Menu.Dropdown>
    </Menu>
  );
}

function columns(
  job: JobDetail,
  rows: readonly Checkpoint[],
  props: Props,
  refusal: string | null,
  onFork: (step: number) => void,
): Column<Checkpoint>[] {
  const base = job.held_out_reward_before ?? null;
  const values = [base, ...rows.map((one) => one.held_out_reward)].filter((one) => one !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return [
    {
      head: "Step",
      cell: (one) => (
        <>
          {one.step} <Marks one={one} />
        </>
      ),
    },
    { head: "Held-out", align: "right", cell: (one) => <b>{reward(one.held_out_reward)}</b> },
    {
      head: base === null ? "Change" : `vs base ${reward(base)}`,
      hide: "narrow",
      cell: (one) =>
        one.held_out_reward !== null && base !== null ? (
          <>
            <Change
              value={one.held_out_reward - base}
              text={signed(one.held_out_reward - base)}
              better="higher"
            />
            {one.held_out_change && (
              <small className={styles.interval} title="95% interval over held-out rows">
                {signed(one.held_out_change.low)} to {signed(one.held_out_change.high)}
              </small>
            )}
          </>
        ) : (
          "–"
        ),
    },
    {
      head: "Base to checkpoint",
      hide: "medium",
      last: true,
      cell: (one) =>
        one.held_out_reward !== null && (
          <Dots value={one.held_out_reward} base={base} low={low} high={high} />
        ),
    },
    { head: "Size", hide: "narrow", align: "right", cell: (one) => bytes(one.bytes) },
    { head: "Saved", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
    {
      head: "Actions",
      align: "right",
      cell: (one) => (
        <span className={styles.actions}>
          <GatedButton
            refusal={refusal}
            variant={props.trying === one.step ? "light" : "default"}
            size="compact-sm"
            aria-pressed={props.trying === one.step}
            aria-label={`Try it: step ${one.step}`}
            onClick={() => props.onTry(props.trying === one.step ? undefined : one.step)}
          >
            Try it
          </GatedButton>
          <More of={one} job={job.id} refusal={refusal} onFork={() => onFork(one.step)} />
          <Button
            component="a"
            variant="default"
            size="compact-sm"
            href={checkpointDownloadUrl(job.id, one.step)}
            download
            aria-label={`Download step ${one.step}`}
          >
            Download
          </Button>
        </span>
      ),
    },
  ];
}

function NoCompletions({ job }: { job: JobDetail }) {
  const every = getAt((job.resolved_spec ?? job.spec) as JsonObject, "limits.checkpoint_every") ?? 10;
  if (isFinal(job.status)) {
    return (
      <Empty title="No checkpoints" picture="adapter">
        The job ended at step {job.progress.step}; its first checkpoint was due at step {String(every)}.
      </Empty>
    );
  }
  return (
    <Empty title="No checkpoint yet" picture="adapter">
      A checkpoint is the adapter after a step, with its held-out reward. The first is saved at step{" "}
      {String(every)}; the job is at step {job.progress.step} of {job.progress.steps}.
    </Empty>
  );
}

/** The adapters that the job has kept so far: which is best, how much it gained, to download or to talk to. */
export function Checkpoints(props: Props) {
  const { job, trying, children } = props;
  const checkpoints = useQuery(checkpointsQuery(job.id));
  const { refusal } = useAccess();
  const [forking, setForking] = useState<number | null>(null);
  const rows = checkpoints.data?.data;
  if (checkpoints.isError && !rows) {
    const retry = () => void checkpoints.refetch();
    return <Failure title="Could not load checkpoints" error={checkpoints.error} retry={retry} />;
  }
  const problem = rows && weightsOf(job, rows).problem;
  const newest = (rows ?? []).reduce((most, one) => Math.max(most, one.step), 0);
  const now = rows && <CheckpointNow job={job} newest={newest} refusal={refusal} />;
  if (rows?.length === 0) {
    return (
      <div className={styles.page}>
        {now}
        <NoCompletions job={job} />
      </div>
    );
  }
  return (
    <div className={styles.page}>
      {now}
      {problem && (
        <Notice tone="warn" title="Not better than base">
          {problem} {rows?.some((one) => one.final) ? "You can still download the final checkpoint." : ""}
        </Notice>
      )}
      <DataTable
        label="Checkpoints"
        columns={columns(job, rows ?? [], props, refusal, setForking)}
        rows={rows}
        rowKey={(one) => one.id}
        expected={3}
      />
      {trying !== undefined && (
        <section className={styles.try} aria-labelledby="try-it">
          <div className={styles.guide}>
            <h2 id="try-it">Try: base and adapter side by side</h2>
            <Button variant="default" size="compact-sm" onClick={() => props.onTry(undefined)}>
              Close
            </Button>
          </div>
          {children}
        </section>
      )}
      <UseIt job={job} />
      <ForkJob job={job} step={forking} onClose={() => setForking(null)} />
    </div>
  );
}
