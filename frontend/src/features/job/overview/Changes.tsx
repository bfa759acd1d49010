import { Link } from "@tanstack/react-router";
import type { JobChange } from "@/api/job-changes";
import styles from "./Changes.module.css";
import { revisionOf, sinceWords, valueWords } from "./change-words";

/** What is another one now: a number of the specification, or a reward. */
function What({ change }: { change: JobChange }) {
  const { reward, revision } = change;
  if (change.type === "setting") {
    return (
      <>
        {change.title} is {valueWords(change)}
      </>
    );
  }
  const stored = revisionOf(revision ?? "");
  return (
    <>
      “{reward}” is{" "}
      {stored ? (
        <Link
          to="/rewards/$id"
          params={{ id: stored.reward }}
          search={{ tab: "revisions", revision: stored.revision }}
        >
          revision {stored.revision}
        </Link>
      ) : (
        revision
      )}
    </>
  );
}

/** What was changed while the job ran: the legend of the marks in its charts. */
export function Changes({ changes }: { changes: readonly JobChange[] }) {
  if (changes.length === 0) return null;
  return (
    <ul className={styles.changes} aria-label="Changes during the run">
      {changes.map((change) => (
        <li key={change.id}>
          <i aria-hidden="true" />
          <What change={change} /> {sinceWords(change)}
        </li>
      ))}
    </ul>
  );
}
