import type { JobProblem } from "@/api/job-form";
import styles from "./Problems.module.css";

type Props = { id?: string; problems?: readonly JobProblem[] | undefined };

/** Problems of a field, below it. `id`: for the control that they describe. */
export function Problems({ id, problems = [] }: Props) {
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
