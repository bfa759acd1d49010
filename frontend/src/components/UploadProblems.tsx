import { Button } from "@mantine/core";
import type { FileFaults } from "@/api/client";
import { markFault } from "@/lib/excerpt";
import { count, number } from "@/lib/format";
import { Notice } from "./Notice";
import styles from "./UploadProblems.module.css";

type Problem = {
  message: string;
  line?: number | null;
  column?: number | null;
  excerpt?: string | null;
  caret?: number | null;
};
type FileError = Error & {
  hint?: string | null;
  errors?: readonly Problem[];
  faults?: FileFaults | null;
};
type Props = {
  title: string;
  error: FileError;
  /** Sends the file again without its bad rows. */
  onSkip?: () => void;
};

const bad = ({ bad_rows }: FileFaults) =>
  bad_rows === 1 ? "the bad row" : `the ${number(bad_rows)} bad rows`;

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
export function UploadProblems({ title, error, onSkip }: Props) {
  const problems = error.errors ?? [];
  const unlisted = (error.faults?.bad_rows ?? 0) - problems.length;
  const more = problems.length > 0 && (
    <ul className={styles.list}>
      {problems.map((problem) => (
        <li key={`${problem.line} ${problem.column} ${problem.message}`}>
          {[
            problem.excerpt && place(problem),
            (problems.length > 1 || problem.message !== error.message) && problem.message,
          ]
            .filter(Boolean)
            .join(": ")}
          {problem.excerpt && <Excerpt problem={problem} />}
        </li>
      ))}
      {unlisted > 0 && <li>{count(unlisted, "more bad row")}.</li>}
    </ul>
  );
  return (
    <Notice
      tone="bad"
      title={title}
      more={more}
      action={
        onSkip &&
        error.faults?.skippable && (
          <Button size="compact-sm" onClick={onSkip}>
            Skip {bad(error.faults)} and keep {number(error.faults.good_rows)}
          </Button>
        )
      }
    >
      {error.faults && error.faults.bad_rows > 1
        ? `${count(error.faults.bad_rows, "row")} of ${number(error.faults.bad_rows + error.faults.good_rows)} have faults.`
        : `${error.message} ${error.hint ?? ""}`}
    </Notice>
  );
}
