import type { JobProblem } from "@/api/job-form";
import styles from "./Field.module.css";

/** Problems of a field, below it. `at` is the field's path, to find the first one. */
export function Problems({ id, problems }: { id?: string; problems: readonly JobProblem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul id={id} className={styles.problems}>
      {problems.map(({ message, hint }) => (
        <li key={message}>
          {message}
          {hint && <span> {hint}</span>}
        </li>
      ))}
    </ul>
  );
}
