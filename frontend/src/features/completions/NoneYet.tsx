import type { Split } from "@/api/completions";
import { Empty } from "@/components/Empty";

/** No step has completions: when they come, or why they do not. */
export function NoneYet({ split, live }: { split: Split; live: boolean }) {
  if (!live)
    return (
      <Empty title="No completions">
        {split === "train"
          ? "The job ended before its first step was done, so there is nothing to read. Its log says why."
          : "The job holds no rows out, or ended before it was evaluated on them."}
      </Empty>
    );
  return (
    <Empty title="No completions yet">
      {split === "train"
        ? "They appear after the first step: what the model wrote, the reward it got, and why."
        : "They appear after the first evaluation on held-out rows."}
    </Empty>
  );
}
