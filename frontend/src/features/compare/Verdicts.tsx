import { Button } from "@mantine/core";
import { useState } from "react";
import type { JobComparison } from "@/api/compare";
import { count } from "@/lib/format";
import styles from "./Compare.module.css";

const FOLDED = 4;

/** What the comparison says about each job, or each group, in one sentence; many of them fold. */
export function Verdicts({ comparison: { jobs, groups = [] } }: { comparison: JobComparison }) {
  const [open, setOpen] = useState(false);
  const all =
    groups.length > 0
      ? groups.map((group) => ({ id: group.label, verdict: group.verdict, notes: group.notes }))
      : jobs;
  const verdicts = all.filter(({ verdict }) => verdict !== null);
  const listed = open ? verdicts : verdicts.slice(0, FOLDED);
  if (groups.length === 1)
    return <p className={styles.none}>All jobs are in one group: there is no other group to compare with.</p>;
  return (
    <div className={styles.verdicts}>
      <ul>
        {listed.map(({ id, verdict, notes }) => (
          <li key={id}>
            {verdict}
            {notes.map((note) => (
              <small key={note}>{note}</small>
            ))}
          </li>
        ))}
      </ul>
      {verdicts.length > FOLDED && (
        <Button variant="subtle" size="compact-sm" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show fewer" : `Show all ${count(verdicts.length, "verdict")}`}
        </Button>
      )}
      {groups.length === 0 && verdicts.length > 0 && (
        <p className={styles.none}>
          Each interval is over prompts and compares one job with one other. With other seeds, the difference
          may change.
        </p>
      )}
    </div>
  );
}
