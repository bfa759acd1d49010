import { datasetOf, modelOf } from "../draft";
import { useForm } from "../form";
import styles from "./Suggested.module.css";
import { timeWords } from "./suggested";

/** The job's time before its start, with its range and where it is from. Has its room before there is an answer. */
export function TimeBefore({ waiting }: { waiting: boolean }) {
  const { draft, suggested } = useForm();
  const words = timeWords(suggested);
  return (
    <div className={styles.time} role="status" aria-label="Estimated time">
      {words ? (
        <>
          <b>{words.text}</b>
          {words.note && <span>{words.note}</span>}
          {words.reason && <small>{words.reason}</small>}
        </>
      ) : waiting ? (
        <span>Estimating the time.</span>
      ) : !modelOf(draft) || !datasetOf(draft) ? (
        <span>The time is estimated once model and dataset are chosen.</span>
      ) : (
        <span>The time could not be estimated.</span>
      )}
    </div>
  );
}
