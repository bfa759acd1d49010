import type { JobComparison } from "@/api/compare";
import { NOTHING } from "@/lib/format";
import styles from "./Compare.module.css";
import { labelsOf } from "./place";

const text = (value: unknown) =>
  value === null || value === undefined ? NOTHING : typeof value === "string" ? value : JSON.stringify(value);

/** Settings that differ, one column per job; values that differ from the baseline's are marked. */
export function SettingsTable({ comparison }: { comparison: JobComparison }) {
  if (comparison.settings.length === 0)
    return <p className={styles.none}>The jobs have the same settings.</p>;
  const labels = labelsOf(comparison.jobs);
  return (
    <section className={styles.scroll} aria-label="Settings that differ" tabIndex={0}>
      <table className={styles.settings}>
        <thead>
          <tr>
            <th scope="col">Setting</th>
            {comparison.jobs.map((job, i) => (
              <th key={job.id} scope="col" title={labels[i]}>
                {labels[i]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {comparison.settings.map(({ path, values }) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              {comparison.jobs.map((job, i) => (
                <td
                  key={job.id}
                  title={text(values[i])}
                  data-differs={text(values[i]) !== text(values[0]) || undefined}
                >
                  {text(values[i])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
