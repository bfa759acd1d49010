import type { RewardResult } from "@/api/completions";
import { number } from "@/lib/format";
import { head, visible } from "../text";
import styles from "./Card.module.css";

const STATUS: Record<string, string> = {
  not_applicable: "does not apply to this row",
  exception: "raised an exception",
  bad_value: "returned a value that is not a number",
  timeout: "timed out",
  cpu_limit: "exceeded the CPU time limit",
  memory: "exceeded the memory limit",
  crashed: "crashed",
  exited: "exited its process",
  output_flood: "exceeded the output limit",
  deadline: "not reached before the time limit",
  skipped: "was skipped",
  load_error: "failed to load",
  sandbox_error: "not run: the sandbox failed",
  judge_error: "judge request failed",
  endpoint_error: "endpoint request failed",
};

export const statusWords = (status: string) => STATUS[status] ?? status.replaceAll("_", " ");

/** Characters of a reason, message or print that are drawn; rewards may say a lot. */
const LONGEST = 20_000;
/** A reason of more characters may need scrolling. */
const SCROLLS = 120;
const excerpt = (text: string) =>
  visible(
    text.length > LONGEST ? `${head(text, LONGEST)}\n… (${text.length - LONGEST} more characters)` : text,
  );

type Result = Pick<RewardResult, "name" | "status" | "value" | "parts" | "reason" | "message" | "prints">;

/** What one reward said about a completion: parts, reason, prints, or how it failed. */
export function RewardReason({ result, alone }: { result: Result; alone: boolean }) {
  const parts = Object.entries(result.parts ?? {});
  const applies = result.status !== "not_applicable";
  const failed = result.status !== "ok" && applies;
  return (
    <div className={styles.reward}>
      {(!alone || failed || !applies) && (
        <p className={failed ? styles.error : undefined}>
          <b>{result.name}</b> {result.status === "ok" ? number(result.value) : statusWords(result.status)}
        </p>
      )}
      {parts.length > 0 && (
        <dl className={styles.parts}>
          {parts.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{number(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      {result.reason && (
        <p className={styles.reason} dir="auto" tabIndex={result.reason.length > SCROLLS ? 0 : undefined}>
          {excerpt(result.reason)}
        </p>
      )}
      {result.message && (
        <details open>
          <summary>message</summary>
          <pre tabIndex={0} dir="auto">
            {excerpt(result.message)}
          </pre>
        </details>
      )}
      {result.prints && (
        <details>
          <summary>prints</summary>
          <pre tabIndex={0} dir="auto">
            {excerpt(result.prints)}
          </pre>
        </details>
      )}
    </div>
  );
}
