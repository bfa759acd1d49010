import { timeOf } from "@/components/ToolCall";
import { STATUS } from "@/lib/tool-calls";
import styles from "./Conversation.module.css";
import type { Turn } from "./conversation";

/** What a simulated user replied to a turn, that it ended the conversation, or why it failed. */
export function UserReply({ reply }: { reply: NonNullable<Turn["reply"]> }) {
  const { status, text = "", ended = false, cut = false, milliseconds = 0 } = reply;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and a section would be a landmark per reply
    <div className={styles.reply} data-failed={status !== "ok"} role="group" aria-label="Reply of the user">
      <p>
        <b>User</b>
        {status !== "ok" && <span className={styles.status}>{STATUS[status]}</span>}
        {ended && <span>ended the conversation</span>}
        {milliseconds > 0 && <span>{timeOf(milliseconds)}</span>}
        {cut && <span title="The middle of the reply is missing">shortened</span>}
      </p>
      {text !== "" && <pre dir="auto">{text}</pre>}
    </div>
  );
}
