import { Button, NativeSelect, Progress } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type KeyboardEvent, useRef, useState } from "react";
import { useAccess } from "@/api/access";
import { groupQuery } from "@/api/completions";
import { calibrationQuery, type LabelPlace, labelsQuery, usePutLabel } from "@/api/labels";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { SkeletonCard } from "@/components/Skeleton";
import { useShortcuts } from "@/lib/shortcuts";
import { CompletionText } from "../group/CompletionText";
import { PromptView } from "../group/PromptView";
import { CalibrationReport } from "./CalibrationReport";
import styles from "./Label.module.css";
import { ENOUGH, labelKey, nextPlaces, progressText } from "./label-words";

type Props = {
  job: string;
  /** Names of the job's rewards. */
  rewards: readonly string[];
  onClose: () => void;
};

const ELSEWHERE = "button, a, summary, input, select, textarea";
const groupOf = ({ split = "train", step, prompt_no }: LabelPlace) => ({ split, step, prompt_no });

/** One completion to judge: prompt, completion, reference answer; not its reward. */
function OneToLabel({ job, place, next }: { job: string; place: LabelPlace; next: LabelPlace | undefined }) {
  const query = useQuery(groupQuery(job, groupOf(place)));
  useQuery({ ...groupQuery(job, groupOf(next ?? place)), enabled: next !== undefined });
  // Placeholder data is of another group: its text must not be judged as this one.
  const group = query.isPlaceholderData ? undefined : query.data;
  const row = group?.completions.find((one) => one.sample_no === place.sample_no);
  if (query.isError && !group) {
    return (
      <Failure
        title="Could not load this completion"
        error={query.error}
        retry={() => void query.refetch()}
      />
    );
  }
  if (!group) return <SkeletonCard height={220} label="Loading the completion" />;
  return (
    <>
      <PromptView group={group} />
      <article className={styles.card} aria-label="Completion to label">
        <header>
          step {place.step}, prompt {place.prompt_no + 1}, #{place.sample_no + 1}
          {group.answer != null && (
            <span>
              reference answer <b dir="auto">{group.answer}</b>
            </span>
          )}
        </header>
        {row ? (
          <CompletionText text={row.text} words={[]} fold={false} open />
        ) : (
          <p>This completion no longer exists: the job resumed from an earlier step. Skip it.</p>
        )}
      </article>
    </>
  );
}

/** Completions one at a time: right or wrong, by a key each; then how far the reward agrees. */
export default function LabelMode({ job, rewards, onClose }: Props) {
  const [reward, setReward] = useState(rewards[0] ?? "");
  const calibration = useQuery(calibrationQuery(job, reward));
  const labels = useQuery(labelsQuery(job));
  const put = usePutLabel(job);
  const { refusal } = useAccess();
  const [queue, setQueue] = useState<readonly LabelPlace[] | null>(null);
  const [done, setDone] = useState<ReadonlySet<string>>(new Set());
  const [labelled, setLabelled] = useState<readonly LabelPlace[]>([]);
  const [reportOpen, setReportOpen] = useState(false);
  const room = useRef<HTMLElement>(null);

  const places = queue ?? calibration.data?.unlabelled ?? [];
  const [place, next] = nextPlaces(places, done);
  const total = labels.data?.data.length ?? 0;
  const reads = reportOpen || (total > 0 && total >= ENOUGH) || (total > 0 && !place);

  const pass = (one: LabelPlace) => {
    setQueue(places);
    setDone((old) => new Set(old).add(labelKey(one)));
    room.current?.focus({ preventScroll: true });
  };
  const back = (one: LabelPlace) => {
    setDone((old) => new Set([...old].filter((key) => key !== labelKey(one))));
    setLabelled((old) => old.filter((other) => other !== one));
  };
  const say = (right: boolean) => {
    if (!place || refusal) return;
    const one = place;
    pass(one);
    setLabelled((old) => [...old, one]);
    put.mutate(
      { ...one, right },
      {
        onSuccess: ({ data }) => {
          if (reads || data.length >= ENOUGH) void calibration.refetch();
        },
        onError: () => back(one),
      },
    );
  };
  const last = labelled.at(-1);
  const takeBack = () => last && put.mutate({ ...last, right: null }, { onSuccess: () => back(last) });
  const skip = () => place && pass(place);
  const more = async () => {
    const fresh = await calibration.refetch();
    if (!fresh.data) return;
    setDone(new Set());
    setQueue(fresh.data.unlabelled);
  };
  useShortcuts("labels", {
    "1": place && !refusal ? () => say(true) : undefined,
    "2": place && !refusal ? () => say(false) : undefined,
    "0": place ? skip : undefined,
    u: last ? takeBack : undefined,
  });
  // Space presses what has the focus; only where that is nothing, it skips.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== " " || (event.target as Element).closest(ELSEWHERE)) return;
    event.preventDefault();
    skip();
  };

  return (
    <section ref={room} className={styles.room} aria-label="Label" tabIndex={-1} onKeyDown={onKeyDown}>
      <div className={styles.bar}>
        <p role="status">{progressText(total)}</p>
        <Progress value={(100 * total) / ENOUGH} aria-label="Labelled" className={styles.progress} />
        {rewards.length > 1 && (
          <NativeSelect
            size="xs"
            aria-label="Reward to compare with"
            value={reward}
            onChange={(event) => setReward(event.currentTarget.value)}
            data={[...rewards]}
          />
        )}
        {total > 0 && !reads && (
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => {
              setReportOpen(true);
              void calibration.refetch();
            }}
          >
            Show report
          </Button>
        )}
        <Button variant="default" size="compact-sm" onClick={onClose}>
          Finish labelling
        </Button>
      </div>
      {calibration.isError && !calibration.data && (
        <Failure
          title="Could not load the next completion"
          error={calibration.error}
          retry={() => void calibration.refetch()}
        />
      )}
      {put.error && <Failure title="Could not save the label" error={put.error} />}
      {calibration.isPending && <SkeletonCard height={220} label="Loading completions to label" />}
      {place && (
        <>
          <OneToLabel job={job} place={place} next={next} />
          <div className={styles.buttons}>
            <GatedButton refusal={refusal} onClick={() => say(true)} aria-keyshortcuts="1">
              ✓ Right <kbd>1</kbd>
            </GatedButton>
            <GatedButton refusal={refusal} variant="default" onClick={() => say(false)} aria-keyshortcuts="2">
              ✕ Wrong <kbd>2</kbd>
            </GatedButton>
            <Button variant="default" onClick={skip} aria-keyshortcuts="0 Space">
              Skip <kbd>0</kbd>
            </Button>
            {last && (
              <Button variant="subtle" onClick={takeBack} loading={put.isPending} aria-keyshortcuts="u">
                Undo last
              </Button>
            )}
          </div>
        </>
      )}
      {reads && calibration.data && <CalibrationReport job={job} calibration={calibration.data} />}
      {calibration.data && !place && (
        <Empty
          title={total > 0 ? "No more suggestions" : "No completions to label yet"}
          action={
            <Button variant="default" loading={calibration.isFetching} onClick={() => void more()}>
              Load more
            </Button>
          }
        >
          Suggestions are spread over all steps; half are completions that the reward passes. Held-out rows
          are excluded.
        </Empty>
      )}
    </section>
  );
}
