import type { ReactNode } from "react";
import type { CheckedSweep } from "@/api/sweeps";
import page from "@/components/FormPage.module.css";
import { count } from "@/lib/format";
import { dependsOnResults } from "./draft";
import { useSweepForm } from "./form";
import styles from "./NewSweep.module.css";

const MOST_LINES = 8;

/** `6 settings × 2 seeds`; null for one seed. */
function factors({ planned, seeds }: CheckedSweep): string | null {
  if (planned === null || planned === undefined || seeds < 2) return null;
  return `${count(planned / seeds, "setting")} × ${count(seeds, "seed")}`;
}

type Props = {
  /** The server's newest response. */
  check: CheckedSweep | undefined;
  children: ReactNode;
};

/** How many jobs there will be and the first of them, all the time in view. */
export function Preview({ check, children }: Props) {
  const { draft } = useSweepForm();
  const planned = check?.planned ?? null;
  const trials = check?.trials ?? [];
  const lines = trials.slice(0, MOST_LINES);
  const product = check && factors(check);
  const limited = typeof draft.jobs === "number" && planned !== null && draft.jobs < planned;
  const later = planned === null ? 0 : planned - lines.length;
  return (
    <aside className={page.summary} aria-labelledby="part-summary">
      <h2 id="part-summary">Jobs of this sweep</h2>
      <p className={styles.number} role="status">
        {planned === null ? (
          "The number of jobs appears once the form is complete."
        ) : (
          <>
            <b>{count(planned, "job")}</b>
            {product && ` (${product})`}
            {limited && `, of which at most ${String(draft.jobs)} are started`}
          </>
        )}
      </p>
      {lines.length > 0 && (
        <ol className={styles.trials} aria-label="First jobs">
          {lines.map((trial) => (
            <li key={trial.number}>
              {trial.name}
              {trial.seed !== null && <span>{`, seed ${trial.seed}`}</span>}
            </li>
          ))}
        </ol>
      )}
      {lines.length > 0 && later > 0 && (
        <p className={page.quiet}>
          {`… and ${later} more`}
          {dependsOnResults(draft.method) && ", chosen by the results of these"}
          {draft.method === "random" && ", drawn the same way"}.
        </p>
      )}
      {(check?.warnings ?? []).length > 0 && (
        <ul className={page.warnings}>
          {check?.warnings?.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
      {children}
    </aside>
  );
}
