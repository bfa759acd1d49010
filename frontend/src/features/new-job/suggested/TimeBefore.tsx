import { useForm } from "../form";
import styles from "./Suggested.module.css";
import { timeWords } from "./suggested";

/** The job's time before its start, with its range and where it is from. */
export function TimeBefore() {
  const { suggested } = useForm();
  const words = timeWords(suggested);
  if (!words) return null;
  return (
    <div className={styles.time} role="status" aria-label="Estimated time">
      <b>{words.text}</b>
      {words.note && <span>{words.note}</span>}
      {words.reason && <small>{words.reason}</small>}
    </div>
  );
}
