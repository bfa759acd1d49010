import type { ReactNode } from "react";
import styles from "./Page.module.css";

type Props = {
  title: string;
  /** Title of the browser's tab, where it says more. */
  tabTitle?: string;
  /** Links and words above the title, in order. */
  crumbs?: readonly ReactNode[];
  /** Edits the title; follows it. */
  rename?: ReactNode;
  meta?: ReactNode;
  /** One that an empty screen offers in its middle waits until that is known: what moves loses its focus. */
  actions?: ReactNode;
  children: ReactNode;
};

/** A title of more letters is cut after three lines on a narrow screen. */
const LONG = 60;

/** The frame of every screen: crumbs, title, state line, actions, content. */
export function Page({ title, tabTitle = title, crumbs = [], rename, meta, actions, children }: Props) {
  return (
    <>
      <title>{`${tabTitle} · Reinforge`}</title>
      {crumbs.length > 0 && (
        <nav className={styles.crumbs} aria-label="Breadcrumb">
          {crumbs.map((crumb, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: crumbs are fixed in place
            <span key={i}>
              {i > 0 && "/ "}
              {crumb}
            </span>
          ))}
        </nav>
      )}
      <div className={styles.head}>
        <div className={styles.title}>
          <div className={styles.name}>
            <h1 title={title.length > LONG ? title : undefined}>{title}</h1>
            {rename}
          </div>
          {meta && <div className={styles.meta}>{meta}</div>}
        </div>
        {actions && <div className={styles.actions}>{actions}</div>}
      </div>
      {children}
    </>
  );
}

export function Tag({ children }: { children: ReactNode }) {
  return <span className={styles.tag}>{children}</span>;
}
