import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";
import styles from "./Completions.module.css";

type Props = {
  steps: readonly number[];
  /** Undefined follows the newest step. */
  step: number | undefined;
  onStep: (step: number | undefined) => void;
};

const SETTLE_MS = 120;

/** Moves over the steps that have completions; its right end follows the newest. */
export function StepScrubber({ steps, step, onStep }: Props) {
  const [held, setHeld] = useState<number | null>(null);
  const settle = useDebouncedCallback((at: number) => {
    setHeld(null);
    onStep(at >= steps.length - 1 ? undefined : steps[at]);
  }, SETTLE_MS);
  const known = step === undefined ? -1 : steps.indexOf(step);
  const at = Math.min(held ?? (known < 0 ? steps.length - 1 : known), steps.length - 1);
  const newest = at === steps.length - 1;
  return (
    <div className={styles.scrub}>
      <output>Step {steps[at]}</output>
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={`step ${steps[at]}${newest ? ", the newest" : ""}`}
        min={0}
        max={steps.length - 1}
        value={at}
        onChange={(event) => {
          const target = Number(event.currentTarget.value);
          setHeld(target);
          settle(target);
        }}
      />
      <span>{newest ? "newest" : `of ${steps.at(-1)}`}</span>
    </div>
  );
}
