import { Button, SegmentedControl, Slider, Switch, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";
import type { AxisKind } from "@/components/chart/axis";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./Toolbar.module.css";
import { MOST_SMOOTHING, type View } from "./view-state";

type Props = {
  /** Steps are still to come, or never came. */
  unfinished: boolean;
  view: View;
  onView: (view: View) => void;
  onBack: () => void;
  onReset: () => void;
};

const AXES: { value: AxisKind; label: string }[] = [
  { value: "step", label: "Step" },
  { value: "time", label: "Time" },
  { value: "tokens", label: "Tokens" },
];
const USUAL_SMOOTHING = 0.6;
/** The address follows a slider or a field after it rests this long: browsers limit how often it may change. */
const REST_MS = 150;

/** A value that shows at once and is handed on when it rests; a change from outside wins. */
function useResting<T>(value: T, commit: (value: T) => void): [T, (value: T) => void] {
  const [draft, setDraft] = useState(value);
  const later = useDebouncedCallback(commit, REST_MS);
  useEffect(() => setDraft(value), [value]);
  const change = (next: T) => {
    setDraft(next);
    later(next);
  };
  return [draft, change];
}

/** How all curves are drawn: axis, smoothing, log scale, visible steps, which charts. */
export function Toolbar({ unfinished, view, onView, onBack, onReset }: Props) {
  const { range, log } = view;
  const [smoothing, setSmoothing] = useResting(view.smoothing, (next) =>
    onView({ ...view, smoothing: next }),
  );
  const [filter, setFilter] = useResting(view.filter, (next) => onView({ ...view, filter: next }));
  const setAxis = (axis: string) => onView({ ...view, axis: axis as AxisKind });
  const toggleLog = () => onView({ ...view, log: log === "all" ? [] : "all" });
  const nextAxis = () => {
    const at = AXES.findIndex(({ value }) => value === view.axis);
    setAxis(AXES[(at + 1) % AXES.length]?.value ?? "step");
  };
  useShortcuts("charts", {
    l: toggleLog,
    s: () => onView({ ...view, smoothing: view.smoothing > 0 ? 0 : USUAL_SMOOTHING }),
    x: nextAxis,
    Backspace: range ? onBack : undefined,
    Escape: range ? onBack : undefined,
  });

  return (
    <div className={styles.bar} role="toolbar" aria-label="Curves">
      <SegmentedControl size="xs" aria-label="Curves over" value={view.axis} onChange={setAxis} data={AXES} />
      <div className={styles.smoothing}>
        <span id="smoothing">Smoothing</span>
        <Slider
          size="sm"
          w={110}
          min={0}
          max={MOST_SMOOTHING}
          step={0.01}
          label={null}
          value={smoothing}
          onChange={setSmoothing}
          thumbProps={{ "aria-labelledby": "smoothing" }}
        />
        <output>{smoothing > 0 ? smoothing.toFixed(2) : "off"}</output>
      </div>
      <Switch size="xs" label="Log" checked={log === "all"} onChange={toggleLog} />
      <div className={styles.zoom} aria-live="polite">
        {range && (
          <>
            <span>
              Steps {range[0]}–{range[1]}
            </span>
            <Button size="compact-xs" variant="default" onClick={onBack}>
              Back
            </Button>
            <Button size="compact-xs" variant="default" onClick={onReset}>
              All steps
            </Button>
          </>
        )}
        {!range && unfinished && (
          <SegmentedControl
            size="xs"
            aria-label="End of the axis"
            value={view.whole ? "whole" : "far"}
            onChange={(end) => onView({ ...view, whole: end === "whole" })}
            data={[
              { value: "far", label: "So far" },
              { value: "whole", label: "Whole job" },
            ]}
          />
        )}
        {!range && <span className={styles.hint}>Drag across a chart to zoom.</span>}
      </div>
      <TextInput
        size="xs"
        className={styles.filter}
        type="search"
        placeholder="Filter charts"
        aria-label="Filter charts by text or regular expression"
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
    </div>
  );
}
