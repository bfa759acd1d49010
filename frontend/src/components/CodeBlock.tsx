import styles from "./CodeBlock.module.css";

type Props = { text: string; label: string; numbered?: boolean };

export function CodeBlock({ text, label, numbered = false }: Props) {
  const lines = text
    .replace(/\n$/, "")
    .split("\n")
    // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text have no other name
    .map((line, i) => <span key={i}>{line}</span>);
  return (
    <section className={`${styles.code} ${numbered ? styles.numbered : ""}`} aria-label={label} tabIndex={0}>
      <pre>{numbered ? lines : text}</pre>
    </section>
  );
}
