import { CopyButton } from "./CopyButton";
import styles from "./CopyField.module.css";

type Props = { text: string; label: string; copy?: string };

/** One line to be taken elsewhere: a command, a secret, an address. */
export function CopyField({ text, label, copy }: Props) {
  return (
    <div className={styles.field}>
      <section aria-label={label} tabIndex={0}>
        <code>{text}</code>
      </section>
      <CopyButton text={text} label={copy} size="compact-sm" />
    </div>
  );
}
