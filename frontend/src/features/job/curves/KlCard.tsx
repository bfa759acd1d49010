import styles from "./KlCard.module.css";

/** In place of the KL chart where it is not measured: why, and how to have it. */
export function KlCard() {
  return (
    <section className={styles.card}>
      <h3>KL to base</h3>
      <p>
        Not measured: <code>algorithm.loss.kl.beta</code> is 0, so no forward pass of the base model is
        needed. Set it above 0 to keep the policy near the base and to see the KL here.
      </p>
    </section>
  );
}
