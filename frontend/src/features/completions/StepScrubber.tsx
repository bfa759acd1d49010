import { useDebouncedCallback } from "@mantine/hooks";
import { type KeyboardEvent, useEffect, useState } from "react";
import styles from "./Completions.module.css";
import { indexOfStep, nearest, neighbour } from "./steps";

type Props = {
  steps: readonly number[];
  current: number;
  /** New steps are shown as they come. */
  following: boolean;
  live: boolean;
  /** Undefined follows the newest step. */
  onStep: (step: number | undefined) => void;
};

const SETTLE_MS = 120;

/** The number of the step as a field; Enter goes to the nearest step that has completions. */
function StepField({ steps, current, onStep }: Pick<Props, "steps" | "current" | "onStep">) {
  const [typed, setTyped] = useState(String(current));
  useEffect(() => setTyped(String(current)), [current]);
  const settle = () => {
    const step = nearest(steps, Number(typed));
    if (typed.trim() === "" || step === undefined || !Number.isFinite(Number(typed)))
      setTyped(String(current));
    else {
      setTyped(String(step));
      if (step !== current) onStep(step);
    }
  };
  return (
    <input
      className={styles.number}
      inputMode="numeric"
      aria-label="Go to step"
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onFocus={(event) => event.currentTarget.select()}
      onBlur={settle}
      onKeyDown={(event: KeyboardEvent) => event.key === "Enter" && settle()}
    />
  );
}

/** Moves over the steps that have completions. */
export function StepScrubber({ steps, current, following, live, onStep }: Props) {
  const [held, setHeld] = useState<number | null>(null);
  const settle = useDebouncedCallback((at: number) => {
    setHeld(null);
    onStep(steps[at]);
  }, SETTLE_MS);
  const at = Math.min(held ?? Math.max(0, indexOfStep(steps, current)), steps.length - 1);
  const step = steps[at] ?? current;
  const last = steps.at(-1);
  const [earlier, later] = [neighbour(steps, current, -1), neighbour(steps, current, 1)];
  return (
    <div className={styles.scrub}>
      <span className={styles.where}>
        <span aria-hidden="true">Step</span>
        <button
          type="button"
          className={styles.arrow}
          aria-label="Previous step"
          title="Previous step (p)"
          disabled={earlier === undefined}
          onClick={() => onStep(earlier)}
        >
          ‹
        </button>
        <StepField steps={steps} current={step} onStep={onStep} />
        <button
          type="button"
          className={styles.arrow}
          aria-label="Next step"
          title="Next step (n)"
          disabled={later === undefined}
          onClick={() => onStep(later)}
        >
          ›
        </button>
      </span>
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={`step ${step} of ${last}`}
        min={0}
        max={Math.max(1, steps.length - 1)}
        disabled={steps.length < 2}
        value={steps.length < 2 ? 1 : at}
        onChange={(event) => {
          const target = Number(event.currentTarget.value);
          setHeld(target);
          settle(target);
        }}
      />
      <span className={styles.of}>of {last}</span>
      <button
        type="button"
        className={styles.newest}
        aria-pressed={following}
        title={
          following
            ? "New steps are shown as they arrive; select a step to stop following"
            : live
              ? "Show the newest step and follow new ones"
              : "Go to the last step"
        }
        onClick={() => onStep(following ? current : undefined)}
      >
        {live ? (following ? "Following latest" : "Follow latest") : "Last step"}
      </button>
    </div>
  );
}
