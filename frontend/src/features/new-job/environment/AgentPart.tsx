import { RunnerBlock } from "@/components/RunnerBlock";
import { copyAs } from "@/lib/copy-as";
import { toSpec } from "../draft";
import { ShortField } from "../Field";
import { useForm } from "../form";
import styles from "../NewJob.module.css";

const FIELDS: readonly (readonly [string, string, string])[] = [
  ["max_model_calls", "Model calls", "Later calls are answered with 429 rollout_budget."],
  ["max_turn_tokens", "Tokens of an answer", "Without it, one answer can use all of max tokens."],
  [
    "max_context_tokens",
    "Tokens of a conversation",
    "Messages and answer together. Without it, the model's context; with vLLM at most 32,768.",
  ],
  [
    "rollout_seconds",
    "Seconds of a rollout",
    "A rollout that takes longer does not count in statistics and loss.",
  ],
  ["heartbeat_seconds", "Heartbeat, seconds", "Time without a heartbeat after which a runner is lost."],
  ["lost", "Lost runner", "retry_once: another runner tries. drop: the rollout does not count."],
  [
    "forks",
    "Rewritten history",
    "train: all conversations of a rollout are trained, as one. first_only: the one with the most tokens.",
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
        Start the job here or with the job file, then run your program for it. It needs no address of its own,
        and any module and function will do for <code>agent:play</code>.
      </RunnerBlock>
    </>
  );
}
