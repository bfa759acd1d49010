import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { GoldenCase, GoldenOutcome } from "@/api/golden";
import { expectationText } from "@/lib/expectation";
import { ago, number } from "@/lib/format";
import { valueText } from "@/lib/prompt";
import { statusWords } from "../bench/status";
import styles from "./Golden.module.css";

type Props = { one: GoldenCase; outcome: GoldenOutcome | undefined; action: ReactNode };

/** Origin of the completion in its job. */
function OriginLink({ origin }: { origin: NonNullable<GoldenCase["origin"]> }) {
  const { job, split, step, prompt_no, sample_no } = origin;
  return (
    <Link
      to="/jobs/$id"
      params={{ id: job }}
      search={{
        tab: "completions",
        split: split === "held_out" ? "held_out" : undefined,
        step,
        prompt: prompt_no,
        sample: sample_no,
      }}
    >
      {split === "held_out" && "held-out, "}step {step}, prompt {prompt_no + 1}, #{sample_no + 1}
    </Link>
  );
}

/** One golden case with what the last run made of it. */
export function GoldenCard({ one, outcome, action }: Props) {
  const texts: [string, string][] = [
    ...(one.expect.above == null
      ? []
      : [["Must score higher than", one.expect.above || "(empty)"] as [string, string]]),
    ["Prompt", valueText(one.prompt)],
    ["Row", JSON.stringify(one.item, null, 2)],
  ];
  return (
    <article className={styles.card}>
      <header>
        {outcome && (
          <span className={styles.state} data-passed={outcome.passed}>
            {outcome.passed ? "✓ passes" : "✕ fails"}
          </span>
        )}
        <b>expects {expectationText(one.expect)}</b>
        {outcome && outcome.value != null && <span>got {number(outcome.value, 6)}</span>}
        {outcome && outcome.value == null && outcome.status !== "ok" && (
          <span>{statusWords(outcome.status).word}</span>
        )}
        {action}
      </header>
      {outcome?.message && <p className={styles.message}>{outcome.message}</p>}
      <pre dir="auto" tabIndex={0}>
        {one.completion || "(empty)"}
      </pre>
      <footer>
        {one.note && <span className={styles.note}>{one.note}</span>}
        {one.origin && <OriginLink origin={one.origin} />}
        <span>
          added {ago(one.created_at)}
          {one.created_by && ` by ${one.created_by}`}
        </span>
      </footer>
      <details>
        <summary>Row and prompt</summary>
        {texts.map(
          ([name, text]) =>
            text && (
              <div key={name}>
                <h4>{name}</h4>
                <pre dir="auto" tabIndex={0}>
                  {text}
                </pre>
              </div>
            ),
        )}
      </details>
    </article>
  );
}
