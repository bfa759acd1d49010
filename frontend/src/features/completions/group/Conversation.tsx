import { ToolCall } from "@/components/ToolCall";
import { count } from "@/lib/format";
import { CompletionText } from "./CompletionText";
import styles from "./Conversation.module.css";
import type { Turn } from "./conversation";
import { MaskStrip } from "./MaskStrip";
import { UserReply } from "./UserReply";

type Props = {
  turns: readonly Turn[];
  words: readonly string[];
  fold: boolean;
  open: boolean;
  /** Number of the first turn that differs within the group; the very first is not marked, since most groups part there. */
  differs: number | null;
};

/** The turns of a rollout: what the policy wrote, what its calls returned, and what a simulated user replied. */
export function Conversation({ turns, words, fold, open, differs }: Props) {
  const parting = differs || null;
  return (
    <>
      <MaskStrip turns={turns} />
      <ol
        className={styles.turns}
        data-open={open}
        aria-label={count(turns.length, "turn")}
        tabIndex={open ? undefined : 0}
      >
        {turns.map((turn) => (
          <li key={turn.no} data-differs={turn.no === parting}>
            <h3>
              Turn {turn.no + 1}
              {turn.no === parting && <span>differs from here</span>}
            </h3>
            <CompletionText text={turn.text} words={words} fold={fold} open={open} />
            {(turn.calls ?? []).map((call) => (
              <ToolCall key={call.id} call={call} />
            ))}
            {turn.reply && <UserReply reply={turn.reply} />}
          </li>
        ))}
      </ol>
    </>
  );
}
