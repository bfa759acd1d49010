import { useDebouncedCallback } from "@mantine/hooks";
import { type CSSProperties, type KeyboardEvent, useEffect, useState } from "react";
import { count } from "@/lib/format";
import styles from "./Completions.module.css";
import { indexOfStep, nearest, neighbour } from "./steps";

type Props = {
  steps: readonly number[];
  current: number;
  /** New steps are shown as they come. */
  following: boolean;
  /** Steps that came after the one on screen. */
  newer: number;
  live: boolean;
  onStep: (step: number) => void;
  /** The newest step, and with `follow` those that come after it. */
  onNewest: (follow: boolean) => void;
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
export function StepScrubber({ steps, current, following, newer, live, onStep, onNewest }: Props) {
  const [held, setHeld] = useState<number | null>(null);
  const settle = useDebouncedCallback((at: number) => {
    setHeld(null);
    const step = steps[at];
    if (step !== undefined) onStep(step);
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
          onClick={() => earlier !== undefined && onStep(earlier)}
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
          onClick={() => later !== undefined && onStep(later)}
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
        style={
          { "--filled": `${steps.length < 2 ? 100 : (100 * at) / (steps.length - 1)}%` } as CSSProperties
        }
        onChange={(event) => {
          const target = Number(event.currentTarget.value);
          setHeld(target);
          settle(target);
        }}
      />
      <span className={styles.of}>of {last}</span>
      {live && (
        <button
          type="button"
          className={styles.newest}
          data-absent={newer === 0 || undefined}
          disabled={newer === 0}
          onClick={() => onNewest(false)}
        >
          {count(newer, "newer step")}
        </button>
      )}
      <button
        type="button"
        className={styles.newest}
        aria-pressed={following}
        title={
          !live
            ? "Go to the last step"
            : following
              ? "New steps are shown as they arrive; select to stay at this one"
              : "Show new steps as they arrive"
        }
        onClick={() => (live && following ? onStep(current) : onNewest(live))}
      >
        {live ? (following ? "Following latest" : "Follow latest") : "Last step"}
      </button>
    </div>
  );
}
