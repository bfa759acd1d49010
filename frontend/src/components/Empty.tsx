import type { ReactNode } from "react";
import styles from "./Empty.module.css";
import { EmptyPicture, type Picture } from "./EmptyPicture";

type Props = {
  title: string;
  /** What would be here, and how it comes here. */
  children: ReactNode;
  action?: ReactNode;
  /** What the filled screen looks like. */
  picture?: Picture;
};

/** An empty state: a picture of the filled one, what would be here, and the next action. */
export function Empty({ title, children, action, picture = "curves" }: Props) {
  return (
    <div className={styles.empty}>
      <EmptyPicture of={picture} />
      <h2>{title}</h2>
      <p>{children}</p>
      {action && <div className={styles.actions}>{action}</div>}
    </div>
  );
}
