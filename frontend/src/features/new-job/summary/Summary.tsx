import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { datasetQuery } from "@/api/datasets";
import type { JobCheck } from "@/api/job-form";
import { rewardsQuery } from "@/api/rewards";
import page from "@/components/FormPage.module.css";
import { count, NOTHING, number } from "@/lib/format";
import { datasetOf, rewardsOf } from "../draft";
import { useForm } from "../form";
import styles from "../NewJob.module.css";
import { checkWarnings, type Facts, summaryLines } from "./summary-lines";

type Props = {
  quick: JobCheck | undefined;
  /** The worker's answer, while it is about what the form says now. */
  full: JobCheck | undefined;
  looking: boolean;
  children: ReactNode;
};

/** Facts that are known: the worker's part is not asked again for each changed number, so counts stay the quick ones. */
const worth = ({ longest_prompt_tokens, prompt_limit, jail }: Facts = {}): Facts => ({
  longest_prompt_tokens,
  prompt_limit,
  jail,
});

/** What will be started, all the time in view. */
export function Summary({ quick, full, looking, children }: Props) {
  const { draft, model, byPath, basis } = useForm();
  const dataset = useQuery({ ...datasetQuery(datasetOf(draft) ?? ""), enabled: !!datasetOf(draft) }).data;
  const stored = useQuery(rewardsQuery).data?.data;
  const rewards = rewardsOf(draft);
  const value = (path: string) => {
    const field = byPath.get(path);
    return field?.value ?? field?.fallback;
  };
  const preset = value("algorithm.preset");
  const facts: Facts = { ...quick?.facts, ...worth(full?.facts) };
  const warnings = checkWarnings(quick, full);
  const lines = summaryLines({
    facts,
    rows: dataset?.rows,
    steps: value("limits.steps"),
    prompts: value("rollout.prompts_per_step"),
    completions: value("rollout.completions_per_prompt"),
  });
  return (
    <aside className={page.summary} aria-labelledby="part-summary">
      <h2 id="part-summary">Summary</h2>
      <dl className={styles.facts}>
        <dt>Base model</dt>
        <dd>{model?.id ?? NOTHING}</dd>
        <dt>Dataset</dt>
        <dd title={dataset?.name}>{dataset?.name ?? NOTHING}</dd>
        <dt>{rewards.length > 1 ? count(rewards.length, "reward") : "Reward"}</dt>
        <dd>
          {rewards
            .map((one) => one.name ?? stored?.find((entry) => entry.id === one.reward)?.name ?? "reward")
            .join(", ") || NOTHING}
        </dd>
        <dt>Method</dt>
        <dd>{basis.presets.find((one) => one.id === preset)?.title ?? "custom algorithm"}</dd>
        <dt>Steps</dt>
        <dd>{number(Number(value("limits.steps")))}</dd>
        {lines.map(({ name, text, note, bad }) => (
          <div key={name} className={styles.line}>
            <dt>{name}</dt>
            <dd data-bad={bad || undefined} title={text}>
              {text}
              {note && <small>{note}</small>}
            </dd>
          </div>
        ))}
      </dl>
      <p className={styles.looking} role="status">
        {looking ? "A worker is checking prompts and rewards." : ""}
      </p>
      {children}
      {/* Below the buttons, which must not move when a warning comes. */}
      {warnings.length > 0 && (
        <ul className={page.warnings}>
          {warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
    </aside>
  );
}
