import { useEffect, useRef } from "react";
import styles from "./Playground.module.css";
import { ReplyCard } from "./ReplyCard";
import { Score } from "./Score";
import { isAnswer, type Message, type Side, type Turn } from "./talk";

type Props = {
  before: readonly Message[];
  turns: readonly Turn[];
  names: readonly [Side, string][];
  /** The reward that scores answers; empty for none. */
  reward: string;
  /** Runs the calls of a side's newest reply; undefined without tools. */
  onRun: ((side: Side) => void) | undefined;
};

/** What has been said: each prompt once, its answers side by side. */
export function Conversation({ before, turns, names, reward, onRun }: Props) {
  const list = useRef<HTMLDivElement>(null);
  const newest = turns.at(-1)?.id;
  // Once, when it is sent: nothing moves while an answer grows.
  useEffect(() => {
    if (newest !== undefined)
      list.current?.querySelector("section:last-of-type")?.scrollIntoView({ block: "nearest" });
  }, [newest]);
  return (
    <div className={styles.turns} ref={list}>
      {before.map((message, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages of a row have no other name
        <div key={i} className={styles.message}>
          <span>{message.role}</span>
          <pre dir="auto">{message.content}</pre>
        </div>
      ))}
      {turns.map((turn) => (
        <section key={turn.id} className={styles.turn} aria-label={`Prompt: ${turn.prompt.slice(0, 60)}`}>
          <div className={styles.message}>
            <span>user</span>
            <pre dir="auto">{turn.prompt}</pre>
            {turn.answer !== null && <small>answer {turn.answer}</small>}
          </div>
          <div className={styles.sides} data-count={names.length}>
            {names.map(([side, name]) => (
              <ReplyCard
                key={side}
                name={name}
                reply={turn.replies[side]}
                onRun={onRun && turn.id === newest ? () => onRun(side) : undefined}
                score={
                  reward !== "" &&
                  turn.replies[side] &&
                  isAnswer(turn.replies[side]) && (
                    <Score
                      reward={reward}
                      prompt={turn.prompt}
                      completion={turn.replies[side].text}
                      item={turn.item}
                    />
                  )
                }
              />
            ))}
          </div>
        </section>
      ))}
      {turns.length === 0 && (
        <div className={styles.sides} data-count={names.length}>
          {names.map(([side, name]) => (
            <ReplyCard key={side} name={name} reply={undefined} />
          ))}
        </div>
      )}
    </div>
  );
}
