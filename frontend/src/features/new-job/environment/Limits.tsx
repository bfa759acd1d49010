import type { ReactNode } from "react";
import { ShortField } from "../Field";
import styles from "../NewJob.module.css";

const LIMITS: readonly (readonly [string, string, ReactNode])[] = [
  ["max_turns", "Turns", "A model that still calls tools ends as max_turns. More turns make steps longer."],
  ["max_tool_calls", "Tool calls", "Two for each turn. The rollout ends at the first call after them."],
  [
    "max_turn_tokens",
    "Tokens of a turn",
    "Without it, one turn can use all of max tokens, which counts the tokens of all turns.",
  ],
  [
    "max_result_tokens",
    "Tokens of a result",
    "Longer results lose their middle: every later turn reads them.",
  ],
  [
    "max_context_tokens",
    "Tokens of a conversation",
    "Prompt, turns and results together. Without it, the model's context; vLLM reserves memory for what the other limits allow.",
  ],
  [
    "invalid_call",
    "Invalid call",
    <>
      <code>{"tell"}</code>: the model reads the error and can correct the call. <code>end</code>: the rollout
      ends.
    </>,
  ],
  [
    "tool_failure",
    "Failed tool",
    <>
      <code>{"tell"}</code>: the model reads the error. <code>end</code>: the rollout ends. <code>drop</code>:
      it does not count in statistics and loss.
    </>,
  ],
];

/** Limits of a rollout with tools, with what they are for. */
export function Limits() {
  return (
    <div className={styles.numbers}>
      {LIMITS.map(([name, label, about]) => (
        <ShortField key={name} path={`environment.${name}`} label={label}>
          {about}
        </ShortField>
      ))}
    </div>
  );
}
