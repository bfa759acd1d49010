import { useQuery } from "@tanstack/react-query";
import { scoreQuery } from "@/api/rewards";
import { reward as figure } from "@/lib/format";
import styles from "./Playground.module.css";

type Props = { reward: string; prompt: string; completion: string; item: Record<string, unknown> | null };

/** What a reward says about an answer, with its reason or what went wrong at the pointer. */
export function Score({ reward, prompt, completion, item }: Props) {
  const score = useQuery(scoreQuery(reward, { completion, prompt, item: item ?? {} }));
  const result = score.data?.results[0];
  if (score.isPending) return <span className={styles.score}>scoring…</span>;
  const fault =
    score.error?.message ?? score.data?.load_error ?? (result?.status === "ok" ? null : result?.message);
  if (result?.status !== "ok")
    return (
      <span className={styles.score} title={fault ?? undefined}>
        not scored: {result?.status.replaceAll("_", " ") ?? "error"}
        {item === null && " without a row"}
      </span>
    );
  return (
    <span className={styles.score} title={result.reason ?? undefined}>
      {result.name || "reward"} <b>{figure(result.value)}</b>
    </span>
  );
}
