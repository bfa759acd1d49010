import { useInViewport } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type CompletionRow, completionQuery } from "@/api/jobs";
import { SIDE_WORD, side } from "@/lib/advantage";
import { count, number, signed } from "@/lib/format";
import styles from "./Completions.module.css";
import { RewardSaid, statusWords } from "./RewardSaid";

const FINISH: Record<string, string> = {
  stop: "ended",
  length: "hit the token limit",
  cancelled: "cancelled",
};
/** Characters shown at once; the rest on request. */
const SHORT = 4000;

/** One completion of a group. Its text is shown as it stands; nothing in it is interpreted. */
export function CompletionCard({ job, row }: { job: string; row: CompletionRow }) {
  const { ref, inViewport } = useInViewport<HTMLElement>();
  const [all, setAll] = useState(false);
  const detail = useQuery({ ...completionQuery(job, row), enabled: inViewport });
  const text = detail.data?.text ?? row.text;
  const rewards = detail.data?.rewards ?? [];
  const where = side(row.advantage);
  return (
    <article
      ref={ref}
      className={styles.card}
      aria-busy={detail.isLoading}
      aria-label={`Completion ${row.sample_no + 1}`}
    >
      <header>
        {row.reward === null ? (
          <span className={styles.error}>no reward: {statusWords(row.error ?? "error")}</span>
        ) : (
          <span>reward {number(row.reward)}</span>
        )}
        {where !== "none" && (
          <span className={styles.advantage} data-side={where} title={`Advantage: ${SIDE_WORD[where]}`}>
            <span className="visually-hidden">advantage </span>
            {signed(row.advantage)}
          </span>
        )}
      </header>
      <pre className={styles.text} dir="auto">
        {all ? text : text.slice(0, SHORT)}
        {!all && text.length > SHORT && (
          <>
            {"… "}
            <button type="button" className={styles.all} onClick={() => setAll(true)}>
              show all {count(text.length, "character")}
            </button>
          </>
        )}
        {text === "" && <span className="visually-hidden">empty completion</span>}
      </pre>
      <div className={styles.said}>
        {rewards.map((result) => (
          <RewardSaid key={result.name} result={result} alone={rewards.length === 1} />
        ))}
      </div>
      <footer>
        <span>{count(row.length, "token")}</span>
        <span>{FINISH[row.finish_reason] ?? row.finish_reason}</span>
      </footer>
    </article>
  );
}
