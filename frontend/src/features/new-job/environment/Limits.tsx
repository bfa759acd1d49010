import type { ReactNode } from "react";
import { ShortField } from "../Field";
import styles from "../NewJob.module.css";

const LIMITS: readonly (readonly [string, string, ReactNode])[] = [
  [
    "max_turns",
    "Turns",
    "A rollout that still calls tools after this many turns ends with the outcome max_turns. More turns make steps longer.",
  ],
  ["max_tool_calls", "Tool calls", "By default two for each turn. A further call ends the rollout."],
  [
    "max_turn_tokens",
    "Tokens of a turn",
    "If empty, one turn can use all of max tokens, the limit for all turns together.",
  ],
  [
    "max_result_tokens",
    "Tokens of a result",
    "The middle of longer results is cut out, because every later turn reads them.",
  ],
  [
    "max_context_tokens",
    "Tokens of a conversation",
    "Maximum of prompt, turns and results together. If empty: the model's context; with vLLM, which reserves memory, what the other limits allow.",
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
