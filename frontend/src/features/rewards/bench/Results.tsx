import { Button } from "@mantine/core";
import { Fragment, useState } from "react";
import { Histogram } from "@/components/Histogram";
import { Notice } from "@/components/Notice";
import { type Bin, groupSpread, histogram, spread, verdict } from "@/lib/distribution";
import { count, number } from "@/lib/format";
import { type Run, scoresOf, type Tested } from "./bench";
import styles from "./Results.module.css";
import { statusWords } from "./status";

type Result = Run["answer"]["results"][number];

const binName = ({ low, high }: Bin) => (low === high ? number(low) : `${number(low)} to ${number(high)}`);

/** `0.4 ms`, `1.2 s`: one call of the reward. */
function took(ms: number | undefined): string {
  if (ms === undefined) return "";
  if (ms < 0.1) return "< 0.1 ms";
  return ms < 1000 ? `${number(ms, 2)} ms` : `${number(ms / 1000, 2)} s`;
}

function Detail({ tested, result, onKeep }: { tested: Tested; result: Result; onKeep?: () => void }) {
  const { meaning } = statusWords(result.status);
  const texts: [string, string | null | undefined][] = [
    ["Error", result.message],
    ["Reason", result.reason],
    ["Output", result.prints],
    ["Completion", tested.completion || "(empty)"],
    ["Row", JSON.stringify(tested.case.item, null, 2)],
  ];
  return (
    <div className={styles.detail}>
      {meaning && <p>{meaning}</p>}
      {texts.map(
        ([name, text]) =>
          text && (
            <div key={name}>
              <h4>{name}</h4>
              <pre dir="auto">{text}</pre>
            </div>
          ),
      )}
      {onKeep && (
        <Button variant="default" size="compact-sm" className={styles.keep} onClick={onKeep}>
          Save as golden case
        </Button>
      )}
    </div>
  );
}

function Parts({ parts }: { parts: Record<string, number> | undefined }) {
  return Object.entries(parts ?? {}).map(([name, value]) => (
    <span key={name} className={styles.part}>
      {name} <b>{number(value)}</b>
    </span>
  ));
}

type Props = {
  run: Run;
  stale: boolean;
  /** Makes a golden case of the result at a place; absent where there is no stored reward to keep it. */
  onKeep?: ((at: number) => void) | undefined;
};

/** What the reward said about each completion, how the scores spread, and what that means for a job. */
export function Results({ run, stale, onKeep }: Props) {
  const [open, setOpen] = useState<number | null>(null);
  const { results, load_error } = run.answer;
  if (load_error) {
    return (
      <Notice
        tone="bad"
        title="Could not load the source"
        more={<pre className={styles.load}>{load_error}</pre>}
      >
        No completion was scored. Fix the line and run again.
      </Notice>
    );
  }
  const scores = scoresOf(run);
  const values = scores.flatMap(({ value }) => (value === null ? [] : [value]));
  const references = run.tested.every((one) => one.reference);
  const judgement = verdict(scores, references);
  const facts = spread(values);
  const inside = groupSpread(scores);
  const failed = results.filter(({ status }) => status !== "ok" && status !== "not_applicable").length;
  const summary = facts
    ? `${count(values.length, "score")} from ${number(facts.min)} to ${number(facts.max)}, mean ${number(facts.mean)}.`
    : "No scores.";
  return (
    <div className={styles.results} data-stale={stale || undefined}>
      <p className={styles.line} role="status">
        <b>
          {number(values.length, 6)} of {count(results.length, "completion")} scored
        </b>
        {failed > 0 && <span className={styles.failed}>{count(failed, "failure")}</span>}
        {inside && (
          <span title="Training compares only completions of the same row">
            {inside.apart} of {count(inside.groups, "row")} distinguished, spread within a row{" "}
            {number(inside.deviation)}
          </span>
        )}
        {stale && <span>The source or the completions have changed: run again.</span>}
      </p>
      {judgement && (
        <Notice tone={judgement.tone} title={judgement.title}>
          {judgement.text}
        </Notice>
      )}
      <section className={styles.frame} tabIndex={0} aria-label="Scores">
        <table>
          <thead>
            <tr>
              <th scope="col">Row</th>
              <th scope="col">Completion</th>
              <th scope="col" data-align="right">
                Score
              </th>
              <th scope="col">Reason or error</th>
              <th scope="col" data-align="right">
                Time
              </th>
            </tr>
          </thead>
          <tbody>
            {run.tested.map((tested, i) => {
              const result = results[i];
              if (!result) return null;
              const fine = result.status === "ok";
              return (
                // biome-ignore lint/suspicious/noArrayIndexKey: results stand in the order they were asked for
                <Fragment key={i}>
                  <tr>
                    <td>
                      <button
                        type="button"
                        className={styles.open}
                        aria-expanded={open === i}
                        aria-label={`Result ${i + 1}, details`}
                        onClick={() => setOpen(open === i ? null : i)}
                      >
                        {open === i ? "▾" : "▸"} {tested.case.row === null ? "–" : tested.case.row + 1}
                      </button>
                    </td>
                    <td className={styles.completion}>
                      <code dir="auto">{tested.completion.slice(0, 160) || "(empty)"}</code>
                    </td>
                    <td data-align="right">
                      <b>{fine ? number(result.value) : "–"}</b>
                    </td>
                    <td className={styles.said}>
                      {!fine && (
                        <span
                          className={styles.status}
                          data-bad={result.status !== "not_applicable" || undefined}
                        >
                          {statusWords(result.status).word}
                        </span>
                      )}
                      <Parts parts={result.parts} />
                      <span className={styles.words}>{result.reason ?? result.message?.split("\n")[0]}</span>
                      {result.prints && <span className={styles.prints}>prints</span>}
                    </td>
                    <td data-align="right">{took(result.wall_ms)}</td>
                  </tr>
                  {open === i && (
                    <tr className={styles.more}>
                      <td colSpan={5}>
                        <Detail
                          tested={tested}
                          result={result}
                          {...(onKeep && { onKeep: () => onKeep(i) })}
                        />
                      </td>
                    </tr>
                  )}
                </Fragment>
              );
            })}
          </tbody>
        </table>
      </section>
      {values.length > 1 && (
        <div className={styles.chart}>
          <Histogram
            title="Scores"
            unit="score"
            what="completions"
            bins={histogram(values)}
            name={binName}
            summary={summary}
          />
        </div>
      )}
    </div>
  );
}
