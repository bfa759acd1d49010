import type { SweepDetail } from "@/api/sweeps";
import { percent } from "@/lib/format";
import styles from "./Sweeps.module.css";

/** How much of the held-out reward's variance a setting explains, as bars. */
export function Importance({ sweep }: { sweep: SweepDetail }) {
  const { importance } = sweep;
  if (!importance)
    return (
      <p className={styles.none}>{sweep.importance_note ?? "No importance is computed for this sweep."}</p>
    );
  return (
    <>
      <dl className={styles.bars}>
        {Object.entries(importance.shares).map(([path, share]) => (
          <div key={path}>
            <dt>{path}</dt>
            <dd>
              <i aria-hidden="true" style={{ width: `${100 * share}%` }} />
              <span>{percent(share)}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p className={styles.none}>
        {`Share of the held-out reward's variance between the values of each setting, over ${importance.trials} jobs, adjusted for the number of values.`}
      </p>
    </>
  );
}
