import { markFault } from "@/lib/excerpt";
import { Notice } from "./Notice";
import styles from "./UploadProblems.module.css";

type Problem = {
  message: string;
  line?: number | null;
  column?: number | null;
  excerpt?: string | null;
  caret?: number | null;
};
type Props = { title: string; error: Error & { hint?: string | null; errors?: readonly Problem[] } };

function place({ line, column }: Problem): string {
  if (line == null) return "";
  return column == null ? `line ${line}` : `line ${line}, column ${column}`;
}

function Excerpt({ problem }: { problem: Problem }) {
  const text = problem.excerpt as string;
  const marked = markFault(text, problem.caret);
  return (
    <pre dir="auto">
      {problem.line != null && <span className={styles.line}>{problem.line}</span>}
      {marked ? (
        <>
          {marked[0]}
          <mark className={styles.fault}>{marked[1]}</mark>
          {marked[2]}
        </>
      ) : (
        text
      )}
    </pre>
  );
}

/** A refused file or source: what is wrong, on which line, with the line shown and the fault marked in it. */
export function UploadProblems({ title, error }: Props) {
  const problems = error.errors ?? [];
  const more = problems.length > 0 && (
    <ul className={styles.list}>
      {problems.map((problem) => (
        <li key={`${problem.line} ${problem.column} ${problem.message}`}>
          {problem.excerpt && place(problem)}
          {problem.message !== error.message && ` ${problem.message}`}
          {problem.excerpt && <Excerpt problem={problem} />}
        </li>
      ))}
    </ul>
  );
  return (
    <Notice tone="bad" title={title} more={more}>
      {error.message} {error.hint}
    </Notice>
  );
}
