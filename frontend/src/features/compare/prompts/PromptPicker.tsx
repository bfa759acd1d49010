import type { ComparedPrompt } from "@/api/compare";
import { count, reward } from "@/lib/format";
import styles from "./SharedPrompts.module.css";

type Props = {
  prompts: readonly ComparedPrompt[];
  current: string;
  onPick: (hash: string) => void;
};

const range = ({ results }: ComparedPrompt) => {
  const rewards = results.flatMap((one) => (one.reward === null ? [] : [one.reward]));
  return `${reward(Math.min(...rewards))} to ${reward(Math.max(...rewards))}`;
};

/** Prompts as buttons: text, and lowest and highest mean reward of a job. */
export function PromptPicker({ prompts, current, onPick }: Props) {
  return (
    <ul className={styles.prompts} aria-label="Prompts">
      {prompts.map((one) => (
        <li key={one.prompt_hash}>
          <button
            type="button"
            aria-current={one.prompt_hash === current || undefined}
            onClick={() => onPick(one.prompt_hash)}
          >
            <bdi>{one.prompt ?? `Prompt ${one.prompt_hash.slice(0, 12)}`}</bdi>
            <small>
              {range(one)} · {count(one.jobs, "job")}
            </small>
          </button>
        </li>
      ))}
    </ul>
  );
}
