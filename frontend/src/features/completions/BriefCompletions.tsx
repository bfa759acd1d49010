import { useQuery } from "@tanstack/react-query";
import { groupQuery } from "@/api/completions";
import { isFinal, type JobStatus } from "@/api/jobs";
import { Failure } from "@/components/Failure";
import { count } from "@/lib/format";
import styles from "./Completions.module.css";
import cardStyles from "./group/Card.module.css";
import { CompletionCard } from "./group/CompletionCard";
import { PromptView } from "./group/PromptView";
import { opening, sortCompletions, stacksOf } from "./groups";
import { NoCompletions } from "./NoCompletions";
import type { Go, Place } from "./place";
import { SplitSwitch } from "./SplitSwitch";
import { StepScrubber } from "./StepScrubber";
import { useStep } from "./use-step";

type Props = {
  job: string;
  status: JobStatus;
  place: Place;
  go: Go;
  /** Opens the room of completions, with a change of place. */
  onRead: (change: Partial<Place>) => void;
};

const MOST = 8;
const STAND_INS = [1, 2, 3, 4];

/** Under the curves: one prompt of a step, its best completions first; the room of completions has the rest. */
export function BriefCompletions({ job, status, place, go, onRead }: Props) {
  const live = !isFinal(status);
  const view = useStep(job, live, place);
  const { groups, steps, shownStep, query } = view;
  const group = groups.find((one) => one.prompt_no === place.prompt) ?? opening(groups);
  const at = group ? groups.indexOf(group) : 0;
  const key = { split: place.split, step: shownStep ?? 0, prompt_no: group?.prompt_no ?? 0 };
  const detail = useQuery({
    ...groupQuery(job, key),
    enabled: shownStep !== undefined && group !== undefined,
  });
  const stacks = stacksOf(sortCompletions(detail.data?.completions ?? [], "advantage"), undefined);
  const here = { step: shownStep, prompt: group?.prompt_no };
  const choose = (no: number | undefined) =>
    go({ step: place.step ?? shownStep, prompt: no, sample: undefined });
  const failed = [query, detail].find((one) => one.isError && !one.data);
  return (
    <section aria-label="Completions">
      <div className={styles.head}>
        <h2>Completions</h2>
        {group && (
          <small>{count(group.rewards?.length ?? 0, "completion")} for this prompt, best first</small>
        )}
        <span className={styles.end}>
          <SplitSwitch split={place.split} go={go} />
          <button
            type="button"
            className={styles.newest}
            onClick={() => onRead({ ...here, sample: undefined })}
          >
            Open completions
          </button>
        </span>
      </div>
      {failed?.error && (
        <Failure
          title="Could not load completions"
          error={failed.error}
          retry={() => void failed.refetch()}
        />
      )}
      {view.isEmpty && <NoCompletions split={place.split} live={live} />}
      {shownStep !== undefined && group && (
        <>
          <StepScrubber
            steps={steps}
            current={view.at ?? shownStep}
            following={view.following}
            live={live}
            newer={view.newer}
            onStep={(step) => go({ step, sample: undefined })}
            onNewest={(follow) => {
              view.release();
              go({ step: undefined, follow, sample: undefined });
            }}
          />
          <div className={styles.main}>
            <div className={styles.step}>
              <button
                type="button"
                className={styles.arrow}
                aria-label="Previous prompt"
                disabled={at === 0}
                onClick={() => choose(groups[at - 1]?.prompt_no)}
              >
                ‹
              </button>
              <span>
                prompt {at + 1} of {groups.length}: {group.kind}
              </span>
              <button
                type="button"
                className={styles.arrow}
                aria-label="Next prompt"
                disabled={at + 1 >= groups.length}
                onClick={() => choose(groups[at + 1]?.prompt_no)}
              >
                ›
              </button>
            </div>
            {detail.data ? <PromptView group={detail.data} /> : <div className={styles.promptWaits} />}
            <div
              className={cardStyles.group}
              data-brief="true"
              aria-busy={detail.isPlaceholderData || view.isStale}
            >
              {stacks.slice(0, MOST).map(({ row, copies }) => (
                <CompletionCard
                  key={`${row.step} ${row.prompt_no} ${row.sample_no}`}
                  job={job}
                  row={row}
                  copies={copies.length}
                  place={place}
                  words={[]}
                  open={false}
                  go={go}
                  onOpen={() => onRead({ ...here, sample: row.sample_no })}
                />
              ))}
              {!detail.data && STAND_INS.map((n) => <div key={n} className={styles.cardWaits} />)}
            </div>
            {stacks.length > MOST && (
              <small>{count(stacks.length - MOST, "more completion")} in Completions</small>
            )}
          </div>
        </>
      )}
      {!query.data && !query.isError && <div className={styles.waits} role="status" aria-label="Loading" />}
    </section>
  );
}
