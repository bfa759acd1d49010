import { useClipboard } from "@mantine/hooks";
import { lazy, Suspense, useEffect, useRef } from "react";
import type { Completion } from "@/api/completions";
import { FINISHES } from "@/lib/finishes";
import { count, number } from "@/lib/format";
import type { Go, Place } from "../place";
import tokenStyles from "../tokens/Tokens.module.css";
import { Advantage } from "./Advantage";
import { Branches } from "./Branches";
import styles from "./Card.module.css";
import { CompletionText } from "./CompletionText";
import { Conversation } from "./Conversation";
import { RewardReason, statusWords } from "./RewardReason";

const TokenStrip = lazy(() => import("../tokens/TokenStrip"));

function CopyMark() {
  return (
    <svg width="13" height="13" viewBox="0 0 13 13" aria-hidden="true" fill="none" stroke="currentColor">
      <rect x="4.5" y="4.5" width="8" height="8" rx="1.5" />
      <path d="M2 8.5H1.5a1 1 0 0 1-1-1v-6a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1V2" />
    </svg>
  );
}

type Props = {
  job: string;
  row: Completion;
  /** Completions of this text that the card stands for. */
  copies?: number;
  place: Place;
  words: readonly string[];
  open: boolean;
  /** Number of the first turn that differs within the group. */
  differs?: number | null;
  go: Go;
  /** Opens or closes the card. */
  onOpen: () => void;
  /** Makes a golden case of it; absent where none can be kept. */
  onKeep?: (() => void) | undefined;
};

/** One completion of a group: advantage, reward, text, what each reward said; open: its tokens too. */
export function CompletionCard(props: Props) {
  const { job, row, copies = 1, place, words, open, differs = null, go, onOpen, onKeep } = props;
  const card = useRef<HTMLElement>(null);
  const clipboard = useClipboard();
  const wasOpen = useRef<boolean>(undefined);
  const rewards = row.rewards ?? [];
  const turns = row.conversation ?? [];
  const truncated = row.finish_reason === "length";

  useEffect(() => {
    const before = wasOpen.current;
    wasOpen.current = open;
    if (!open || before === open) return;
    card.current?.scrollIntoView({ block: "nearest" });
    // The keys j and k move along the cards; the focus moves too, for screen readers.
    if (before === false && !card.current?.contains(document.activeElement))
      card.current?.focus({ preventScroll: true });
  }, [open]);

  return (
    <article
      ref={card}
      className={styles.card}
      data-open={open}
      tabIndex={-1}
      aria-label={`Completion ${row.sample_no + 1}`}
    >
      <header>
        <span>
          <span className={styles.no}>#{row.sample_no + 1}</span>{" "}
          {row.reward === null ? (
            <span className={styles.error}>no reward: {statusWords(row.error ?? "error")}</span>
          ) : (
            <span>reward {number(row.reward)}</span>
          )}
          {copies > 1 && (
            <b className={styles.copies} title={`${copies} completions have this text`}>
              × {copies}
            </b>
          )}
        </span>
        <Advantage value={row.advantage} />
      </header>
      {turns.length > 0 ? (
        <Conversation turns={turns} words={words} fold={place.fold} open={open} differs={differs} />
      ) : (
        <CompletionText text={row.text} words={words} fold={place.fold} open={open} />
      )}
      <Branches branches={row.branches ?? []} words={words} fold={place.fold} />
      <div className={styles.said}>
        {rewards.map((result) => (
          <RewardReason key={result.name} result={result} alone={rewards.length === 1} />
        ))}
      </div>
      {open && (
        <Suspense fallback={<div className={tokenStyles.waiting} />}>
          <TokenStrip job={job} row={row} measure={place.tokens} onMeasure={(tokens) => go({ tokens })} />
        </Suspense>
      )}
      <footer>
        <span title={count(row.length, "token")}>{count(row.length, "tok", "tok")}</span>
        {truncated ? (
          <span className={styles.truncated} title="The completion hit the token limit">
            {FINISHES.length}
          </span>
        ) : (
          <span>{FINISHES[row.finish_reason]}</span>
        )}
        <span className={styles.actions}>
          {open && onKeep && (
            <button type="button" onClick={onKeep}>
              Save as golden case
            </button>
          )}
          <button type="button" title="Copy text" onClick={() => clipboard.copy(row.text)}>
            {clipboard.copied ? <span aria-hidden="true">✓</span> : <CopyMark />}
            <span className="visually-hidden">
              {clipboard.copied ? "copied" : "copy"} completion {row.sample_no + 1}
            </span>
          </button>
          <button type="button" aria-expanded={open} onClick={onOpen}>
            {open ? "close" : "tokens"}
            <span className="visually-hidden"> of completion {row.sample_no + 1}</span>
            <span aria-hidden="true">{open ? " ▴" : " ▸"}</span>
          </button>
        </span>
      </footer>
    </article>
  );
}
