import type { Completion } from "@/api/completions";
import { count } from "@/lib/format";
import { CompletionText } from "./CompletionText";
import styles from "./Conversation.module.css";

type Turn = NonNullable<Completion["conversation"]>[number];
type Call = NonNullable<Turn["calls"]>[number];

const STATUS: Record<string, string> = {
  invalid_json: "cannot be read",
  unknown_tool: "no such tool",
  bad_arguments: "wrong arguments",
  exception: "raised an error",
  timeout: "timed out",
  memory: "ran out of memory",
  crashed: "crashed",
  too_many: "one call too many",
};

type Props = {
  turns: readonly Turn[];
  words: readonly string[];
  fold: boolean;
  open: boolean;
};

/** The turns of a rollout with tools: what the policy wrote, what its calls returned, and how long they took. */
export function Conversation({ turns, words, fold, open }: Props) {
  return (
    <ol className={styles.turns} data-open={open} aria-label={count(turns.length, "turn")}>
      {turns.map((turn) => (
        <li key={turn.no}>
          <h4>Turn {turn.no + 1}</h4>
          <CompletionText text={turn.text} words={words} fold={fold} open={open} />
          {(turn.calls ?? []).map((call) => (
            <CallResult key={call.id} call={call} />
          ))}
        </li>
      ))}
    </ol>
  );
}

function CallResult({ call }: { call: Call }) {
  const failed = call.status !== "ok";
  return (
    <div className={styles.call} data-failed={failed}>
      <p>
        <b>{call.name || "unreadable call"}</b>
        <span className={styles.status}>{STATUS[call.status] ?? call.status}</span>
        {(call.milliseconds ?? 0) > 0 && <span>{Math.round(call.milliseconds ?? 0)} ms</span>}
        {call.cut && <span>shortened</span>}
      </p>
      <pre dir="auto">{call.result}</pre>
    </div>
  );
}
