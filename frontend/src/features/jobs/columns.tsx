import { Link } from "@tanstack/react-router";
import { SETTING } from "@/api/job-list";
import { isFinal, type Job, stateNote } from "@/api/jobs";
import type { Column } from "@/components/DataTable";
import { StatePill } from "@/components/StatePill";
import { ago, duration, NOTHING, reward } from "@/lib/format";
import { HeldOut } from "./HeldOut";
import { JobSpark } from "./JobSpark";
import styles from "./JobTable.module.css";

function took({ started_at, finished_at }: Job): string {
  if (!started_at) return NOTHING;
  const end = finished_at ? Date.parse(finished_at) : Date.now();
  return duration((end - Date.parse(started_at)) / 1000);
}

function State({ job }: { job: Job }) {
  const { step, steps } = job.progress;
  return (
    <span className={styles.state}>
      <StatePill state={job.status} note={stateNote(job)} />
      {!isFinal(job.status) && step > 0 && (
        <span className={styles.place}>
          {step} of {steps}
        </span>
      )}
    </span>
  );
}

/** A value of a specification as text. */
export function settingText(value: unknown): string {
  if (value === null || value === undefined) return NOTHING;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

type NameOf = (dataset: string) => string | undefined;

const job: Column<Job> = {
  head: "Job",
  grow: true,
  sort: "name",
  cell: (one) => (
    <>
      <Link to="/jobs/$id" params={{ id: one.id }} data-row title={one.name}>
        {one.name}
      </Link>
      {one.tags?.map((tag) => (
        <span key={tag} className={styles.tag}>
          #{tag}
        </span>
      ))}
      {one.archived && <span className={styles.tag}>archived</span>}
    </>
  ),
};

/** Columns that people choose from, by name; the first ones are there unless others are chosen. */
const CATALOGUE: Record<string, (nameOf: NameOf) => Column<Job>> = {
  reward: () => ({ head: "Reward", hide: "narrow", cell: (one) => <JobSpark job={one} /> }),
  status: () => ({ head: "Status", sort: "status", cell: (one) => <State job={one} /> }),
  held_out: () => ({
    head: "Held-out reward",
    align: "right",
    sort: "held_out_reward",
    cell: (one) => <HeldOut job={one} />,
  }),
  model: () => ({ head: "Model", hide: "medium", cell: (one) => one.model }),
  dataset: (nameOf) => ({
    head: "Dataset",
    hide: "medium",
    cell: (one) => <span className={styles.cut}>{nameOf(one.dataset) ?? NOTHING}</span>,
  }),
  owner: () => ({ head: "By", hide: "wide", cell: (one) => one.created_by ?? NOTHING }),
  created: () => ({
    head: "Created",
    hide: "narrow",
    align: "right",
    sort: "created",
    cell: (one) => ago(one.created_at),
  }),
  duration: () => ({ head: "Duration", hide: "wide", align: "right", sort: "duration", cell: took }),
  base: () => ({
    head: "Base reward",
    align: "right",
    sort: "held_out_reward_before",
    cell: (one) => reward(one.held_out_reward_before),
  }),
  best: () => ({
    head: "Best reward",
    align: "right",
    sort: "held_out_reward_best",
    cell: (one) => reward(one.held_out_reward_best),
  }),
  steps: () => ({ head: "Steps", align: "right", sort: "steps", cell: (one) => one.progress.steps }),
  preset: () => ({ head: "Algorithm", cell: (one) => one.preset_title ?? "Custom" }),
  rewards: () => ({
    head: "Scored by",
    cell: (one) => <span className={styles.cut}>{one.reward_names.join(", ")}</span>,
  }),
};

export const DEFAULT_COLUMNS = "reward,status,held_out,model,dataset,owner,created,duration";
export const COLUMN_CHOICES = Object.entries(CATALOGUE).map(([value, column]) => ({
  value,
  label: column(() => undefined).head,
}));

/** `chosen`: names with commas; unknown ones are ignored. */
export function jobColumns(chosen: string | undefined, nameOf: NameOf): Column<Job>[] {
  const names = [...new Set((chosen ?? DEFAULT_COLUMNS).split(","))];
  const columns = names.flatMap((name): Column<Job>[] => {
    if (name.startsWith(SETTING)) {
      const path = name.slice(SETTING.length);
      return [{ head: path, sort: name, align: "right", cell: (one) => settingText(one.settings?.[path]) }];
    }
    const column = Object.hasOwn(CATALOGUE, name) ? CATALOGUE[name]?.(nameOf) : undefined;
    // A column that was chosen is there at any width; the table scrolls.
    return column ? [chosen === undefined ? column : { ...column, hide: undefined }] : [];
  });
  return [job, ...columns];
}
