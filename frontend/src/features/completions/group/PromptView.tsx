import type { CompletionGroup } from "@/api/completions";
import styles from "../Completions.module.css";
import { head, visible } from "../text";

/** Characters of a prompt or a column that are drawn. */
const LONGEST = 20_000;
/** Characters of the answer that fit the line that opens the row. */
const BRIEF = 80;

const words = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));
const asText = (value: unknown) => {
  const text = words(value) ?? "";
  return visible(text.length > LONGEST ? `${head(text, LONGEST)} … (${text.length} characters)` : text);
};

type Message = { role?: string; content?: unknown };

/** The prompt of a group as chat messages (or as rendered text), with the reference answer and its row. */
export function PromptView({ group }: { group: CompletionGroup }) {
  const messages = (group.prompt_messages ?? []) as Message[];
  const columns = Object.entries(group.item ?? {}).filter(
    ([name]) => name !== "messages" && name !== "prompt",
  );
  const answer = group.answer ?? null;
  const brief = answer === null ? "" : visible(head(answer, BRIEF)).replace(/\s+/g, " ");
  return (
    <div className={styles.prompt}>
      <section className={styles.asked} tabIndex={0} aria-label="Prompt">
        {messages.length > 1 ? (
          messages.map((message, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other name
            <div key={i}>
              <small>{message.role}</small>
              <pre dir="auto">{asText(message.content)}</pre>
            </div>
          ))
        ) : (
          <pre dir="auto">{asText(messages[0] ? messages[0].content : group.prompt)}</pre>
        )}
      </section>
      <details className={styles.row}>
        <summary>
          {answer !== null && (
            <>
              answer{" "}
              <b dir="auto">
                {brief}
                {answer.length > BRIEF && "…"}
              </b>
              {" · "}
            </>
          )}
          row {group.row_index + 1} of the dataset
        </summary>
        <dl>
          {answer !== null && answer.length > BRIEF && (
            <div>
              <dt>reference answer</dt>
              <dd dir="auto">{asText(answer)}</dd>
            </div>
          )}
          {columns.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd dir="auto">{asText(value)}</dd>
            </div>
          ))}
          <div>
            <dt>with chat template</dt>
            <dd dir="auto">{asText(group.prompt)}</dd>
          </div>
        </dl>
      </details>
    </div>
  );
}
