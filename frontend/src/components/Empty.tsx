import type { ReactNode } from "react";
import styles from "./Empty.module.css";

/** An empty state: what would be here, and the next action. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={styles.empty}>
      <svg width="132" height="56" viewBox="0 0 132 56" aria-hidden="true" fill="none">
        <path d="M2 54h128M2 38h128M2 22h128" stroke="var(--line)" />
        <path d="M4 46c24 0 30-2 42-14s20-22 42-24 30-2 40-2" stroke="var(--c1)" strokeWidth="2" />
        <path
          d="M4 50c20-1 34-4 48-12s34-20 76-24"
          stroke="var(--c2)"
          strokeWidth="1.4"
          strokeDasharray="4 3"
        />
      </svg>
      <h2>{title}</h2>
      <p>{children}</p>
      {action && <div className={styles.actions}>{action}</div>}
    </div>
  );
}
