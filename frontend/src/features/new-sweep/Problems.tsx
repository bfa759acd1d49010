import type { JobProblem } from "@/api/job-form";
import styles from "./NewSweep.module.css";

/** What is wrong with a field, below it. */
export function Problems({ problems = [] }: { problems?: readonly JobProblem[] | undefined }) {
  if (problems.length === 0) return null;
  return (
    <ul className={styles.problems}>
      {problems.map(({ message, hint }) => (
        <li key={message}>
          {message}
          {hint && <span> {hint}</span>}
        </li>
      ))}
    </ul>
  );
}
