import { Button } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type JobPrompt, jobPromptsQuery } from "@/api/job-prompts";
import { isFinal, type JobDetail } from "@/api/jobs";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Sparkline } from "@/components/Sparkline";
import { count, NOTHING, number, percent, reward } from "@/lib/format";
import { describe } from "@/lib/sentence";
import { PromptFilters } from "./PromptFilters";
import styles from "./Prompts.module.css";
import { CATEGORIES, type PromptsPlace, toFilter } from "./place";

type Props = {
  job: JobDetail;
  place: PromptsPlace;
  onPlace: (place: PromptsPlace) => void;
};

/** The mean reward of each draw; a single draw is a dot. */
function Rewards({ prompt, steps }: { prompt: JobPrompt; steps: number }) {
  const curve = { steps: prompt.series.steps ?? [], values: prompt.series.rewards ?? [] };
  const single = curve.values.length === 1;
  return (
    <span className={styles.spark}>
      <Sparkline
        train={single ? undefined : curve}
        heldOut={single ? curve : undefined}
        steps={steps}
        width={96}
        height={22}
        label={describe(curve, { up: "Rose", down: "Fell", format: reward })}
      />
    </span>
  );
}

function columns(job: JobDetail, place: PromptsPlace): Column<JobPrompt>[] {
  return [
    { head: "Row", align: "right", hide: "narrow", cell: (one) => number(one.row_index + 1, 9) },
    {
      head: "Prompt",
      grow: true,
      cell: (one) => (
        <>
          <Link
            data-row
            from="/jobs/$id"
            to="/jobs/$id"
            params={{ id: job.id }}
            search={(old) => ({
              ...old,
              tab: "completions",
              view: "steps",
              split: place.split === "train" ? undefined : place.split,
              step: one.last_step,
              prompt: one.last_prompt_no,
              sample: undefined,
              a: undefined,
              b: undefined,
            })}
          >
            <bdi>{one.prompt ?? `Row ${number(one.row_index + 1, 9)}`}</bdi>
          </Link>
          {one.answer !== null && <bdi className={styles.below}>{one.answer}</bdi>}
        </>
      ),
    },
    { head: "Answer", cut: true, hide: "narrow", cell: (one) => <bdi>{one.answer ?? NOTHING}</bdi> },
    {
      head: "Category",
      hide: place.category ? "wide" : "narrow",
      cell: (one) =>
        one.category && (
          <span className={styles.category} data-category={one.category}>
            {CATEGORIES[one.category].label}
          </span>
        ),
    },
    { head: "Rewards", cell: (one) => <Rewards prompt={one} steps={job.progress.steps} /> },
    {
      head: "First → last",
      align: "right",
      hide: "medium",
      cell: (one) => `${reward(one.first_reward)} → ${reward(one.last_reward)}`,
    },
    { head: "Passed", align: "right", cell: (one) => <b>{percent(one.pass_share)}</b> },
    { head: "Draws", align: "right", hide: "medium", cell: (one) => number(one.draws, 6) },
  ];
}

function Nothing({ job, place, onPlace }: Props) {
  const held = place.split === "held_out";
  if (place.category || place.text)
    return (
      <Empty
        title="No matching prompts"
        action={
          <Button variant="default" onClick={() => onPlace({ ...place, category: undefined, text: "" })}>
            Show all prompts
          </Button>
        }
      >
        {place.text ? `No prompt contains "${place.text}"` : "No prompt is"}
        {place.category && ` ${place.text ? "and is " : ""}${CATEGORIES[place.category].label.toLowerCase()}`}
        .
      </Empty>
    );
  return (
    <Empty title={isFinal(job.status) ? "No prompts" : "No prompts yet"}>
      {isFinal(job.status)
        ? held
          ? "The job has no held-out rows, or ended before its first evaluation."
          : "The job ended before its first step. See its log for the reason."
        : held
          ? "They appear after the first evaluation on held-out rows."
          : "They appear after the first step."}
    </Empty>
  );
}

/** Every prompt over all steps of a job: what it never solved, lost, won. */
export function Prompts({ job, place, onPlace }: Props) {
  const query = useInfiniteQuery(jobPromptsQuery(job.id, toFilter(place)));
  const pages = query.data?.pages;
  const rows = pages?.flatMap((page) => page.data);
  const [first] = pages ?? [];
  const live = !isFinal(job.status);
  return (
    <section aria-label="Prompts">
      <PromptFilters
        place={place}
        onPlace={onPlace}
        counts={first && { prompts: first.prompts, categories: first.categories ?? {} }}
      />
      <p className={styles.about} role="status">
        <span>
          {place.category
            ? CATEGORIES[place.category].meaning
            : "Every dataset row that was drawn, over all steps."}{" "}
          {first && `A completion passes above a reward of ${number(first.pass_above)}.`}
          {first && place.text !== "" && ` ${count(first.total, "prompt")} found.`}
        </span>
        {live && (
          <Button
            variant="default"
            size="compact-sm"
            loading={query.isRefetching}
            onClick={() => void query.refetch()}
          >
            Refresh
          </Button>
        )}
      </p>
      {query.isError && (
        <Failure title="Could not load prompts" error={query.error} retry={() => void query.refetch()} />
      )}
      {rows?.length === 0 ? (
        <Nothing job={job} place={place} onPlace={onPlace} />
      ) : (
        (rows || !query.isError) && (
          <DataTable
            label="Prompts of the job"
            columns={columns(job, place)}
            rows={rows}
            rowKey={(one) => one.row_index}
            expected={10}
            keys
          />
        )
      )}
      {query.hasNextPage && (
        <div className={styles.more}>
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Load more
          </Button>
        </div>
      )}
    </section>
  );
}
