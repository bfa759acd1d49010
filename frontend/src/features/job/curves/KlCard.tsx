import styles from "./KlCard.module.css";

/** Replaces the KL chart of a job that does not measure it. */
export function KlCard({ title }: { title: string }) {
  return (
    <section className={styles.card}>
      <h3>{title}</h3>
      <p>
        Not measured: <code>algorithm.loss.kl.beta</code> is 0, so no forward pass of the base model is
        needed. Set it above 0 to keep the policy near the base and to see the KL here.
      </p>
    </section>
  );
}
