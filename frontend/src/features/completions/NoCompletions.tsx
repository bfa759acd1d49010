import type { Split } from "@/api/completions";
import { Empty } from "@/components/Empty";

/** No step has completions: when they come, or why they do not. */
export function NoCompletions({ split, live }: { split: Split; live: boolean }) {
  if (!live)
    return (
      <Empty title="No completions">
        {split === "train"
          ? "The job ended before its first step. See its log for the reason."
          : "The job has no held-out rows, or ended before its first evaluation."}
      </Empty>
    );
  return (
    <Empty title="No completions yet">
      {split === "train"
        ? "They appear after the first step, with text, reward and reason."
        : "They appear after the first evaluation on held-out rows."}
    </Empty>
  );
}
