import styles from "./Brand.module.css";

export function Brand() {
  return (
    <span className={styles.brand}>
      <i aria-hidden="true" />
      Reinforge
    </span>
  );
}
