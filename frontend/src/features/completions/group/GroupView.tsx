import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { useAccess } from "@/api/access";
import { groupQuery } from "@/api/completions";
import { Failure } from "@/components/Failure";
import { count, number } from "@/lib/format";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "../Completions.module.css";
import { type Group, type GroupSort, KIND_MEANING, KIND_SHAPE, sortCompletions, stacksOf } from "../groups";
import type { Go, Place } from "../place";
import { thinks } from "../text";
import card from "./Card.module.css";
import { CompletionCard } from "./CompletionCard";
import { firstDifference } from "./conversation";
import { PromptView } from "./PromptView";
import { useStoredRewards } from "./stored-rewards";

const KeepCompletion = lazy(() => import("./KeepCompletion"));

type Props = {
  job: string;
  step: number;
  group: Group;
  place: Place;
  words: readonly string[];
  go: Go;
  /** The keys j and k belong to the search that led here. */
  keysAreTaken: boolean;
};

const SORTS: Record<GroupSort, string> = {
  advantage: "best advantage first",
  reward: "highest reward first",
  length: "longest first",
  sampled: "as sampled",
};

/** Characters from which completions get wider cards. */
const LONG = 400;
const STAND_INS = [1, 2, 3, 4, 5, 6, 7, 8];

/** The completions of one prompt side by side. */
export function GroupView({ job, step, group, place, words, go, keysAreTaken }: Props) {
  const { split, sort, sample } = place;
  const detail = useQuery(groupQuery(job, { split, step, prompt_no: group.prompt_no }));
  const fullGroup = detail.data;
  const stored = useStoredRewards(job);
  const { refusal } = useAccess();
  const [keeping, setKeeping] = useState<number | null>(null);
  const goldenRow = fullGroup?.completions.find((row) => row.sample_no === keeping);
  const rows = useMemo(() => sortCompletions(fullGroup?.completions ?? [], sort), [fullGroup, sort]);
  const stacks = useMemo(() => stacksOf(rows, sample), [rows, sample]);
  const conversations = rows.flatMap(({ conversation = [] }) =>
    conversation.length > 0 ? [conversation] : [],
  );
  const differs = firstDifference(conversations);
  const cards = place.each ? rows.map((row) => ({ row, copies: [row] })) : stacks;
  // An open completion pins the step while the job progresses.
  const open = (sample_no: number | undefined) =>
    go({ step: place.step ?? step, prompt: group.prompt_no, sample: sample_no });
  const move = (by: 1 | -1) => {
    const at = cards.findIndex(({ row }) => row.sample_no === sample);
    const next = at < 0 ? (by > 0 ? cards[0] : cards.at(-1)) : cards[at + by];
    if (next) open(next.row.sample_no);
  };
  useShortcuts("completions", {
    j: keysAreTaken ? undefined : () => move(1),
    k: keysAreTaken ? undefined : () => move(-1),
    g: sample === undefined ? undefined : () => go({ sample: undefined }),
  });

  if (detail.isError && !fullGroup)
    return (
      <Failure title="Could not load this group" error={detail.error} retry={() => void detail.refetch()} />
    );
  return (
    <>
      {fullGroup ? <PromptView group={fullGroup} /> : <div className={styles.promptWaits} />}
      <div className={styles.tools}>
        <p>
          {count(group.rewards?.length ?? 0, "completion")},{" "}
          <span aria-hidden="true">{KIND_SHAPE[group.kind]} </span>
          {group.kind}, mean reward {number(group.mean)}
          {split === "train" && (
            <span className={styles.meaning} title={KIND_MEANING[group.kind]}>
              {" "}
              · {KIND_MEANING[group.kind]}
            </span>
          )}
        </p>
        {rows.some((row) => thinks(row.text)) && (
          <label className={styles.fold}>
            <input
              type="checkbox"
              checked={place.fold}
              onChange={(event) => go({ fold: event.currentTarget.checked })}
            />
            collapse thinking
          </label>
        )}
        {stacks.length < rows.length && (
          <label className={styles.fold}>
            <input
              type="checkbox"
              checked={!place.each}
              onChange={(event) => go({ each: !event.currentTarget.checked })}
            />
            group equal texts
          </label>
        )}
        <NativeSelect
          size="xs"
          aria-label="Sort completions"
          value={sort}
          onChange={(event) => go({ sort: event.currentTarget.value as GroupSort })}
          data={(Object.keys(SORTS) as GroupSort[]).map((value) => ({ value, label: SORTS[value] }))}
        />
      </div>
      <div
        className={card.group}
        aria-busy={!fullGroup || detail.isPlaceholderData}
        data-long={conversations.length > 0 || rows.some((row) => row.text.length > LONG)}
      >
        {cards.map(({ row, copies }) => (
          <CompletionCard
            key={`${row.step} ${row.prompt_no} ${row.sample_no}`}
            job={job}
            row={row}
            copies={copies.length}
            place={place}
            words={words}
            go={go}
            open={row.sample_no === sample}
            differs={differs}
            onOpen={() => open(row.sample_no === sample ? undefined : row.sample_no)}
            onKeep={stored.length > 0 && !refusal ? () => setKeeping(row.sample_no) : undefined}
          />
        ))}
        {!fullGroup && STAND_INS.map((n) => <div key={n} className={styles.cardWaits} />)}
      </div>
      {fullGroup && goldenRow && (
        <Suspense fallback={null}>
          <KeepCompletion
            job={job}
            group={fullGroup}
            row={goldenRow}
            rewards={stored}
            onClose={() => setKeeping(null)}
          />
        </Suspense>
      )}
    </>
  );
}
