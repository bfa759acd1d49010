import { count } from "@/lib/format";
import styles from "./Conversation.module.css";
import { spansOf, type Turn } from "./conversation";

/** Which tokens of a conversation the policy wrote, so that they are trained, in proportion to their number. */
export function MaskStrip({ turns }: { turns: readonly Turn[] }) {
  const spans = spansOf(turns);
  const sum = (of: typeof spans) => of.reduce((tokens, span) => tokens + span.tokens, 0);
  const own = sum(spans.filter(({ policy }) => policy));
  const words = `${own} of ${count(sum(spans), "token")} by the policy`;
  return (
    <div className={styles.mask} title={`${words}: only these are trained`}>
      <div aria-hidden="true">
        {spans.map((span) => (
          <i
            key={`${span.turn} ${span.policy}`}
            data-policy={span.policy}
            style={{ flexGrow: span.tokens }}
            title={`${span.policy ? "turn" : "answer to turn"} ${span.turn + 1}: ${count(span.tokens, "token")}, ${span.policy ? "trained" : "not trained"}`}
          />
        ))}
      </div>
      <small>{words}</small>
    </div>
  );
}
