import type { RewardResult } from "@/api/jobs";
import { number } from "@/lib/format";
import styles from "./Completions.module.css";

const STATUS: Record<string, string> = {
  not_applicable: "does not apply to this row",
  exception: "raised an exception",
  bad_value: "returned something that is not a number",
  timeout: "took too long",
  cpu_limit: "used too much processor time",
  memory: "used too much memory",
  crashed: "crashed",
  exited: "ended its process",
  output_flood: "printed too much",
  deadline: "was not reached in time",
  skipped: "was skipped",
  load_error: "did not load",
  sandbox_error: "could not run: the sandbox failed",
  judge_error: "could not ask its judge",
  endpoint_error: "could not reach its endpoint",
};

export const statusWords = (status: string) => STATUS[status] ?? status.replaceAll("_", " ");

/** What one reward said about a completion: parts, reason, prints, or how it failed. */
type Said = Pick<RewardResult, "name" | "status" | "value" | "parts" | "reason" | "message" | "prints">;

export function RewardSaid({ result, alone }: { result: Said; alone: boolean }) {
  const parts = Object.entries(result.parts ?? {});
  const failed = result.status !== "ok" && result.status !== "not_applicable";
  return (
    <>
      {(!alone || failed || result.status === "not_applicable") && (
        <p className={failed ? styles.error : undefined}>
          {result.name} {result.status === "ok" ? number(result.value) : statusWords(result.status)}
        </p>
      )}
      {parts.length > 0 && (
        <div className={styles.parts}>
          {parts.map(([name, value]) => (
            <span key={name}>
              {name} {number(value)}
            </span>
          ))}
        </div>
      )}
      {result.reason && <p>{result.reason}</p>}
      {result.message && (
        <details open>
          <summary>message</summary>
          <pre>{result.message}</pre>
        </details>
      )}
      {result.prints && (
        <details>
          <summary>prints</summary>
          <pre>{result.prints}</pre>
        </details>
      )}
    </>
  );
}
