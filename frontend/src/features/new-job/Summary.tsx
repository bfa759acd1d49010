import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { BaseModel } from "@/api/models";
import { rewardsQuery } from "@/api/rewards";
import { count, NOTHING, number } from "@/lib/format";
import { type Draft, numbers } from "./draft";
import styles from "./NewJob.module.css";

type Props = { draft: Draft; model: BaseModel | undefined; children: ReactNode };

/** What will be started, all the time in view. */
export function Summary({ draft, model, children }: Props) {
  const rewards = useQuery(rewardsQuery).data?.data;
  const value = numbers(draft, model);
  const stored = rewards?.find((one) => one.id === draft.reward)?.name;
  const total = value.steps * value.promptsPerStep * value.completionsPerPrompt;
  const lines: [string, string][] = [
    ["Dataset", draft.dataset ? `${draft.dataset.name}, ${count(draft.dataset.rows, "row")}` : NOTHING],
    ["Reward", draft.source ? count(draft.source.trimEnd().split("\n").length, "line") : (stored ?? NOTHING)],
    ["Model", draft.model ?? NOTHING],
    ["Algorithm", draft.preset === "dr_grpo" ? "Dr. GRPO" : "GRPO"],
    ["Steps", number(value.steps)],
    ["Each step", `${number(value.promptsPerStep)} prompts × ${number(value.completionsPerPrompt)}`],
    ["In all", Number.isFinite(total) ? count(total, "completion") : NOTHING],
  ];
  return (
    <aside className={styles.summary} aria-label="Summary">
      <h2>Summary</h2>
      <dl>
        {lines.map(([name, text]) => (
          <div key={name} style={{ display: "contents" }}>
            <dt>{name}</dt>
            <dd title={text}>{text}</dd>
          </div>
        ))}
      </dl>
      {children}
    </aside>
  );
}
