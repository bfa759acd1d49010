import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { completionsQuery, type Split } from "@/api/jobs";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { count, number } from "@/lib/format";
import { CompletionCard } from "./CompletionCard";
import styles from "./Completions.module.css";
import { groupsOf } from "./groups";
import { PromptView } from "./PromptView";
import { StepScrubber } from "./StepScrubber";

export type Place = { step: number | undefined; split: Split; prompt: number | undefined };

type Props = { job: string; place: Place; onPlace: (place: Place) => void };

/** The completions of a step: choose step and prompt, read the group side by side, best first. */
export function Completions({ job, place, onPlace }: Props) {
  const { step, split, prompt } = place;
  const completions = useQuery(completionsQuery(job, split, step));
  const page = completions.data;
  const groups = useMemo(() => groupsOf(page?.data ?? []), [page]);
  const group = groups.find((one) => one.promptNo === prompt) ?? groups[0];
  const head = group?.rows[0];

  return (
    <section aria-label="Completions">
      <div className={styles.head}>
        <h2>Completions</h2>
        {page && page.total > 0 && (
          <small>
            {count(page.total, "completion")} at this step, best first
            {page.data.length < page.total && ` (the first ${page.data.length} are shown)`}
          </small>
        )}
        <SegmentedControl
          size="xs"
          aria-label="Which rows"
          value={split}
          onChange={(value) => onPlace({ step: undefined, split: value as Split, prompt: undefined })}
          data={[
            { value: "train", label: "Training" },
            { value: "held_out", label: "Held-out" },
          ]}
        />
      </div>
      {completions.isError && !page && (
        <Failure
          title="Completions could not be loaded"
          error={completions.error}
          retry={() => void completions.refetch()}
        />
      )}
      {page && !head && (
        <Empty title="No completions yet">
          {split === "train"
            ? "They appear after the first step: what the model wrote, the reward it got, and why."
            : "They appear after the first evaluation on held-out rows."}
        </Empty>
      )}
      {page && group && head && (
        <>
          <StepScrubber
            steps={page.steps ?? []}
            step={step}
            onStep={(next) => onPlace({ ...place, step: next })}
          />
          <fieldset className={styles.prompts} style={{ border: 0, padding: 0, margin: "0 0 10px" }}>
            <legend className="visually-hidden">Prompt</legend>
            {groups.map((one) => {
              const words = `Prompt ${one.promptNo + 1}: ${one.kind}, mean reward ${number(one.mean)}`;
              return (
                <button
                  key={one.promptNo}
                  type="button"
                  data-kind={one.kind}
                  aria-pressed={one === group}
                  aria-label={words}
                  title={words}
                  onClick={() => onPlace({ ...place, prompt: one.promptNo })}
                >
                  {one.promptNo + 1}
                </button>
              );
            })}
            <span>
              prompt {group.promptNo + 1} of {groups.length}: {group.kind}, mean reward {number(group.mean)}
            </span>
          </fieldset>
          <PromptView job={job} row={head} />
          <div className={styles.group}>
            {group.rows.map((row) => (
              <CompletionCard key={`${row.step} ${row.prompt_no} ${row.sample_no}`} job={job} row={row} />
            ))}
          </div>
        </>
      )}
    </section>
  );
}
