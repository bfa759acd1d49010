import { CopyButton } from "./CopyButton";
import styles from "./Page.module.css";

/** The last crumb of a thing's page: its name, and its id to copy. */
export function Crumb({ id, name }: { id: string; name: string | undefined }) {
  return (
    <span className={styles.crumb}>
      <span title={id}>{name ?? id}</span>
      <CopyButton text={id} label="Copy ID" size="compact-xs" variant="subtle" color="gray" />
    </span>
  );
}
