import type { ReactNode } from "react";
import styles from "./Notice.module.css";

type Props = {
  tone: "bad" | "warn" | "info";
  title: string;
  children?: ReactNode;
  action?: ReactNode;
  /** Long material under the line: a traceback, lines of a file. */
  more?: ReactNode;
};

/** A banner: what happened, what it means, what to do. */
export function Notice({ tone, title, children, action, more }: Props) {
  return (
    <div className={styles.notice} data-tone={tone} role={tone === "bad" ? "alert" : "status"}>
      <b>{title}</b>
      <div className={styles.text}>{children}</div>
      {action}
      {more && <div className={styles.more}>{more}</div>}
    </div>
  );
}
