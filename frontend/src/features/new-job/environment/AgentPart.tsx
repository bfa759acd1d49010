import { RunnerBlock } from "@/components/RunnerBlock";
import { copyAs } from "@/lib/copy-as";
import { toSpec } from "../draft";
import { ShortField } from "../Field";
import { useForm } from "../form";
import styles from "../NewJob.module.css";

const FIELDS: readonly (readonly [string, string, string])[] = [
  ["max_model_calls", "Model calls", "Maximum per rollout. Further calls get 429 rollout_budget."],
  ["max_turn_tokens", "Tokens of an answer", "If empty, one answer can use all of max tokens."],
  [
    "max_context_tokens",
    "Tokens of a conversation",
    "Maximum of messages and answer together. If empty: the model's context, with vLLM at most 32,768.",
  ],
  ["rollout_seconds", "Seconds of a rollout", "A longer rollout does not count in statistics and loss."],
  ["heartbeat_seconds", "Heartbeat, seconds", "A runner without a heartbeat for this time counts as lost."],
  [
    "lost",
    "Lost runner",
    "retry_once: any runner tries the rollout once more. drop: the rollout does not count.",
  ],
  [
    "forks",
    "Rewritten history",
    "If a rollout has several conversations: train trains all, as one; first_only the one with the most tokens.",
  ],
];

/** Limits of a program's rollouts, and how the program is started. */
export function AgentPart() {
  const { basis, draft } = useForm();
  return (
    <>
      <div className={styles.numbers}>
        {FIELDS.map(([name, label, about]) => (
          <ShortField key={name} path={`environment.${name}`} label={label}>
            {about}
          </ShortField>
        ))}
      </div>
      <RunnerBlock job={null} yaml={copyAs("yaml", toSpec(basis, draft))}>
        Start the job here or with the job file, then run your program. The program needs no public address.
        Replace <code>agent:play</code> with your module and function.
      </RunnerBlock>
    </>
  );
}
