import { duration, number } from "@/lib/format";
import { argumentsOf, type Call, STATUS } from "@/lib/tool-calls";
import styles from "./ToolCall.module.css";

/** From here on a text may need scrolling in its box. */
const SCROLLS = 300;

function Text({ text }: { text: string }) {
  const scrolls = text.length > SCROLLS || text.split("\n").length > 8;
  return (
    <pre dir="auto" tabIndex={scrolls ? 0 : undefined}>
      {text}
    </pre>
  );
}

export const timeOf = (milliseconds: number) =>
  milliseconds < 1000 ? `${Math.max(1, Math.round(milliseconds))} ms` : duration(milliseconds / 1000);

/** A call of a tool: its name, status and time, its arguments by name, and what it returned. */
export function ToolCall({ call }: { call: Omit<Call, "id"> }) {
  const { name, status, milliseconds = 0, cut = false, result = "", reward = null } = call;
  const named = argumentsOf(call.arguments);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and a section would be a landmark per call
    <div
      className={styles.call}
      data-failed={status !== "ok"}
      role="group"
      aria-label={`Call of ${name || "a tool"}`}
    >
      <p className={styles.head}>
        <b>{name || "unreadable call"}</b>
        <span className={styles.status}>{STATUS[status]}</span>
        {milliseconds > 0 && <span>{timeOf(milliseconds)}</span>}
        {reward !== null && <span>reward {number(reward)}</span>}
        {cut && <span title="The middle of the result is missing">shortened</span>}
      </p>
      {named === null ? (
        <Text text={call.arguments} />
      ) : (
        named.length > 0 && (
          <dl className={styles.arguments}>
            {named.map((argument) => (
              <div key={argument.name} style={{ display: "contents" }}>
                <dt>{argument.name}</dt>
                <dd>
                  <Text text={argument.value} />
                </dd>
              </div>
            ))}
          </dl>
        )
      )}
      {result !== "" && (
        <div className={styles.result}>
          <span aria-hidden="true">→</span>
          <span className="visually-hidden">returned</span>
          <Text text={result} />
        </div>
      )}
    </div>
  );
}
