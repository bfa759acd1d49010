import { Link } from "@tanstack/react-router";
import type { JobChange } from "@/api/evaluations";
import styles from "./Changes.module.css";
import { revisionOf, sinceWords } from "./change-words";

/** What was changed while the job ran: the legend of the marks in its charts. */
export function Changes({ changes }: { changes: readonly JobChange[] }) {
  if (changes.length === 0) return null;
  return (
    <ul className={styles.changes} aria-label="Changes while it ran">
      {changes.map((change) => {
        const { id, reward, revision } = change;
        const stored = revisionOf(revision);
        return (
          <li key={id}>
            <i aria-hidden="true" />“{reward}” is{" "}
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
            )}{" "}
            {sinceWords(change)}
          </li>
        );
      })}
    </ul>
  );
}
