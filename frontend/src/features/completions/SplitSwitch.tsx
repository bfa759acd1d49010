import { SegmentedControl } from "@mantine/core";
import type { Split } from "@/api/completions";
import type { Go } from "./place";

/** Training rows or held-out rows; each has steps and prompts of its own. */
export function SplitSwitch({ split, go }: { split: Split; go: Go }) {
  return (
    <SegmentedControl
      size="xs"
      aria-label="Split"
      value={split}
      onChange={(value) =>
        go({
          split: value as Split,
          step: undefined,
          prompt: undefined,
          sample: undefined,
          a: undefined,
          b: undefined,
        })
      }
      data={[
        { value: "train", label: "Training" },
        { value: "held_out", label: "Held-out" },
      ]}
    />
  );
}
