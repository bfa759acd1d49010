import styles from "./Method.module.css";

/** How sure it is that the formula is the authors'. */
const ABOUT: Record<string, [number, string]> = {
  high: [3, "formula from the authors' paper or code, or from a maintained library"],
  medium: [2, "formula combined from independent sources"],
  low: [1, "based on a short description; see the differences"],
};

/** One to three bars and the word; the reason too where there is room for it. */
export function Confidence({ level, why = false }: { level: string; why?: boolean }) {
  const [bars, text] = ABOUT[level] ?? [0, ""];
  return (
    <span className={styles.confidence}>
      <i aria-hidden="true">
        {[1, 2, 3].map((bar) => (
          <i key={bar} data-on={bar <= bars || undefined} />
        ))}
      </i>
      <span>
        {level}
        {why && text ? `: ${text}` : ""}
        {!why && <span className="visually-hidden"> confidence</span>}
      </span>
    </span>
  );
}
