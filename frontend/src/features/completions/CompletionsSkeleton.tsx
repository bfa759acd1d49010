import styles from "./Completions.module.css";
import card from "./group/Card.module.css";

const CARDS = [1, 2, 3, 4, 5, 6, 7, 8];

/** Stands where the step will be, in its sizes, so that nothing moves when it arrives. */
export function CompletionsSkeleton() {
  return (
    <div role="status" aria-label="Loading completions">
      <div className={styles.scrubWaits} />
      <div className={styles.room}>
        <div className={styles.listWaits} />
        <div className={styles.main}>
          <div className={styles.viewsWait} />
          <div className={styles.promptWaits} />
          <div className={styles.viewsWait} />
          <div className={card.group}>
            {CARDS.map((n) => (
              <div key={n} className={styles.cardWaits} />
            ))}
          </div>
        </div>
      </div>
    </div>
  );
}
