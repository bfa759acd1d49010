import { Link } from "@tanstack/react-router";
import type { Calibration, LabelView } from "@/api/labels";
import { type Column, DataTable } from "@/components/DataTable";
import { Notice } from "@/components/Notice";
import { count, number } from "@/lib/format";
import styles from "./Label.module.css";
import { agreementText, calibrationFacts, warning } from "./label-words";

function columns(job: string): Column<LabelView>[] {
  return [
    {
      head: "Completion",
      cell: (one) => (
        <Link
          to="/jobs/$id"
          params={{ id: job }}
          search={{
            tab: "completions",
            split: one.split === "held_out" ? "held_out" : undefined,
            step: one.step,
            prompt: one.prompt_no,
            sample: one.sample_no,
          }}
          data-row
        >
          step {one.step}, prompt {one.prompt_no + 1}, #{one.sample_no + 1}
        </Link>
      ),
    },
    { head: "Your label", cell: (one) => (one.right ? "right" : "wrong") },
    { head: "Reward", cell: (one) => (one.right ? "fails it" : "passes it") },
    { head: "Labelled by", hide: "narrow", last: true, cell: (one) => one.created_by },
  ];
}

/** How far a reward agrees with the labels: agreement, confusion, cost, and where the two differ. */
export function CalibrationReport({ job, calibration }: { job: string; calibration: Calibration }) {
  const { report, reward, pass_above, disagreements } = calibration;
  const mind = warning(report);
  return (
    <section className={styles.report} aria-label="Calibration">
      <h2>Does “{reward}” agree with you?</h2>
      <p className={styles.agreement}>{agreementText(report)}</p>
      {mind && (
        <Notice tone="warn" title="Review these first">
          {mind}
        </Notice>
      )}
      {report.compared > 0 && (
        <div className={styles.parts}>
          <table className={styles.confusion}>
            <caption>Pass threshold {number(pass_above)}</caption>
            <thead>
              <tr>
                <td />
                <th scope="col">passes</th>
                <th scope="col">fails</th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">labelled right</th>
                <td data-agrees>{report.right_passed}</td>
                <td>{report.right_failed}</td>
              </tr>
              <tr>
                <th scope="row">labelled wrong</th>
                <td>{report.wrong_passed}</td>
                <td data-agrees>{report.wrong_failed}</td>
              </tr>
            </tbody>
          </table>
          <dl className={styles.facts}>
            {calibrationFacts(report).map(({ name, text, note }) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  {text}
                  <small>{note}</small>
                </dd>
              </div>
            ))}
          </dl>
        </div>
      )}
      {disagreements.length > 0 && (
        <>
          <h3>{count(disagreements.length, "disagreement")}</h3>
          <DataTable
            label="Disagreements"
            columns={columns(job)}
            rows={disagreements}
            rowKey={(one) => `${one.split} ${one.step} ${one.prompt_no} ${one.sample_no}`}
          />
        </>
      )}
    </section>
  );
}
