import { useQuery } from "@tanstack/react-query";
import { type CompletionRow, completionQuery } from "@/api/jobs";
import styles from "./Completions.module.css";

const words = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));

type Message = { role?: string; content?: unknown };

/** The prompt of a group as chat messages (or as rendered text), with the other columns of its row. */
export function PromptView({ job, row }: { job: string; row: CompletionRow }) {
  const detail = useQuery(completionQuery(job, row)).data;
  const messages = (detail?.prompt_messages ?? []) as Message[];
  const item = Object.entries(detail?.item ?? {}).filter(
    ([name]) => name !== "messages" && name !== "prompt",
  );
  return (
    <div className={styles.prompt}>
      {messages.length > 1 ? (
        messages.map((message, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other name
          <div key={i}>
            <small>{message.role}</small>
            <pre dir="auto">{words(message.content)}</pre>
          </div>
        ))
      ) : (
        <pre dir="auto">{messages[0] ? words(messages[0].content) : (detail?.prompt ?? "…")}</pre>
      )}
      <div className={styles.item}>
        <span>row {row.row_index + 1} of the dataset</span>
        {item.map(([name, value]) => (
          <span key={name}>
            {name} <b>{words(value).slice(0, 200)}</b>
          </span>
        ))}
      </div>
    </div>
  );
}
