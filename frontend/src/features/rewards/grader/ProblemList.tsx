import styles from "@/components/Problems.module.css";
import { messageOf, type Problems } from "./problems";

/** What is wrong with a field, under it. */
export function ProblemList({ problems, id }: { problems: Problems; id?: string }) {
  if (problems.length === 0) return null;
  return (
    <ul id={id} className={styles.problems}>
      {problems.map((one) => (
        <li key={`${one.field} ${one.message}`}>{messageOf(one)}</li>
      ))}
    </ul>
  );
}
