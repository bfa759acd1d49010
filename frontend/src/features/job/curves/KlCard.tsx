import styles from "./KlCard.module.css";

/** In place of the KL chart where it is not measured: why, and how to have it. */
export function KlCard() {
  return (
    <section className={styles.card}>
      <h3>KL to base</h3>
      <p>
        Not measured: <code>algorithm.loss.kl.beta</code> is 0, so the base is not asked for its
        probabilities, which saves a pass over every completion. With a weight above 0 the policy is held near
        the base and the distance is drawn here.
      </p>
    </section>
  );
}
