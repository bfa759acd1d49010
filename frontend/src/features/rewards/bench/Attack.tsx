import { useEffect, useRef } from "react";
import type { AttackFinding, AttackReport } from "@/api/reward-attack";
import { Notice } from "@/components/Notice";
import { count, number } from "@/lib/format";
import styles from "./Attack.module.css";
import { attackTitle, causes } from "./attack";

function Finding({ finding }: { finding: AttackFinding }) {
  const { example } = finding;
  return (
    <li>
      <b>{finding.message}</b>
      <pre className={styles.example} dir="auto">
        {example.completion || "(empty)"}
      </pre>
      <span className={styles.note}>
        Reward {number(example.value ?? 0)}
        {example.answer !== null && ` where the answer is ${example.answer}`}. {finding.fix}
      </span>
    </li>
  );
}

/** What wrong completions get. */
export function Attack({ report, stale }: { report: AttackReport; stale: boolean }) {
  const pane = useRef<HTMLElement>(null);
  useEffect(() => pane.current?.scrollIntoView({ block: "nearest" }), []);
  if (report.load_error) {
    return (
      <Notice tone="bad" title="The reward does not load">
        {report.load_error}
      </Notice>
    );
  }
  const tone = report.verdict === "broken" ? "bad" : report.verdict === "holds" ? "info" : "warn";
  const explained = report.findings.length - causes(report).length;
  return (
    <section ref={pane} className={styles.attack} aria-label="Attack">
      <Notice tone={tone} title={attackTitle(report)}>
        {report.message}
        {stale && " The reward has changed since."}
      </Notice>
      <ul className={styles.findings}>
        {causes(report).map((finding) => (
          <Finding key={finding.code} finding={finding} />
        ))}
      </ul>
      <p className={styles.note}>
        {count(report.completions, "completion")} scored on {count(report.rows, "row")}.
        {explained > 0 && ` ${count(explained, "more finding")} follow from the first.`}
        {(report.errors?.length ?? 0) > 0 &&
          ` The reward fails on some: ${report.errors?.[0]?.reason ?? "no message"}.`}
      </p>
    </section>
  );
}
