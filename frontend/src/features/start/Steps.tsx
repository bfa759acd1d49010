import type { ReactNode } from "react";
import { ButtonLink } from "@/components/ButtonLink";
import styles from "./Start.module.css";
import type { Step } from "./steps";

type Words = { title: string; text: string; action: ReactNode };

const WORDS: Record<Step["name"], (variant: "filled" | "default") => Words> = {
  data: (variant) => ({
    title: "Data",
    text: "Prompts as JSONL, CSV or Parquet. The reward can read all columns.",
    action: (
      <ButtonLink to="/datasets" variant={variant}>
        Upload a dataset
      </ButtonLink>
    ),
  }),
  reward: (variant) => ({
    title: "Reward",
    text: "Python code that scores a completion. Test it on your rows before training.",
    action: (
      <ButtonLink to="/rewards/new" variant={variant}>
        Write a reward
      </ButtonLink>
    ),
  }),
  job: (variant) => ({
    title: "Job",
    text: "Base model, data and reward. Curves and completions appear during training.",
    action: (
      <ButtonLink to="/jobs/new" variant={variant}>
        New job
      </ButtonLink>
    ),
  }),
  evaluate: (variant) => ({
    title: "Evaluate",
    text: "Score an adapter on more rows, or compare it with its base model, with 95% intervals.",
    action: (
      <ButtonLink to="/evaluations/new" variant={variant}>
        New evaluation
      </ButtonLink>
    ),
  }),
  vary: (variant) => ({
    title: "Change one setting",
    text: "Duplicate a job with another learning rate or method, and compare both.",
    action: (
      <ButtonLink to="/jobs/new" variant={variant}>
        New job
      </ButtonLink>
    ),
  }),
  deploy: (variant) => ({
    title: "Use it",
    text: "Deploy the best checkpoint to call it like any OpenAI model, or download it.",
    action: (
      <ButtonLink to="/adapters" variant={variant}>
        Adapters
      </ButtonLink>
    ),
  }),
};

const TICK = <path d="m4 8.4 2.6 2.6L12 5.4" />;

type Props = { label: string; steps: readonly Step[]; mayChange: boolean };

/** What is done is ticked, and the next one carries the button. */
export function Steps({ label, steps, mayChange }: Props) {
  return (
    <ol className={styles.steps} aria-label={label}>
      {steps.map(({ name, done, next }, i) => {
        const { title, text, action } = WORDS[name](next ? "filled" : "default");
        return (
          <li key={name} data-done={done || undefined} data-next={next || undefined}>
            <span className={styles.mark} aria-hidden="true">
              {done ? (
                <svg
                  width="16"
                  height="16"
                  viewBox="0 0 16 16"
                  fill="none"
                  stroke="currentColor"
                  strokeWidth="2"
                >
                  {TICK}
                </svg>
              ) : (
                i + 1
              )}
            </span>
            <h2>
              {title}
              <span className="visually-hidden">{done ? ", done" : ""}</span>
            </h2>
            <p>{text}</p>
            {mayChange && <div className={styles.act}>{action}</div>}
          </li>
        );
      })}
    </ol>
  );
}
