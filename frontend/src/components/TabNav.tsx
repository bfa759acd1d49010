import type { ReactNode } from "react";
import styles from "./TabNav.module.css";

/** Links to the parts of a page; the router marks the one that is shown. */
export function TabNav({ label, children }: { label: string; children: ReactNode }) {
  return (
    <nav className={styles.tabs} aria-label={label}>
      {children}
    </nav>
  );
}
