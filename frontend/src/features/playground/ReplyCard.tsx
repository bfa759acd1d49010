import type { ReactNode } from "react";
import { CopyButton } from "@/components/CopyButton";
import styles from "./Playground.module.css";
import { ToolSteps, WaitingCalls } from "./ToolSteps";
import { facts, type Reply } from "./talk";

type Props = {
  name: string;
  reply: Reply | undefined;
  /** What the reward says about it. */
  score?: ReactNode;
  /** Runs the calls of its newest turn; undefined where that is not possible. */
  onRun?: (() => void) | undefined;
};

/** One side's answer: text as it is, what it cost, what went wrong. Head and foot keep their place while it grows. */
export function ReplyCard({ name, reply, score, onRun }: Props) {
  const by = reply?.by ?? name;
  return (
    <article className={styles.reply} aria-label={`Answer of ${by}`} data-state={reply?.state}>
      <header>
        <b>{by}</b>
        <span>{reply?.status}</span>
      </header>
      {reply?.error ? (
        <p role="alert" className={styles.error}>
          {reply.error.message} {reply.error.hint}
        </p>
      ) : null}
      {reply && <ToolSteps reply={reply} />}
      {reply && reply.end === null && (
        <pre dir="auto" tabIndex={0} aria-busy={reply.state === "writing"}>
          {reply.text}
          {reply.state === "writing" && <i aria-hidden="true" className={styles.caret} />}
        </pre>
      )}
      {reply && onRun && <WaitingCalls reply={reply} onRun={onRun} />}
      <footer>
        <span>{reply ? facts(reply) : ""}</span>
        {score}
        {reply?.text && <CopyButton text={reply.text} size="compact-sm" variant="subtle" />}
      </footer>
    </article>
  );
}
