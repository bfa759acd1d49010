import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { type GoldenCase, type GoldenRun, goldenQuery, useDeleteGolden, useRunGolden } from "@/api/golden";
import type { RewardDetail } from "@/api/rewards";
import { Confirm } from "@/components/Confirm";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { SkeletonCard } from "@/components/Skeleton";
import { count } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import styles from "./Golden.module.css";
import { GoldenCard } from "./GoldenCard";

type Draft = { source: string; entry: string | null };
type Props = {
  reward: RewardDetail;
  /** Source in the editor; null while it is the newest revision. */
  unsaved: Draft | null;
  refusal: string | null;
};

/** What was run: undefined is the newest revision, else the source that stood in the editor. */
type Ran = { what: Draft | null; revision: number; answer: GoldenRun };

function Outcome({ ran, stale }: { ran: Ran; stale: boolean }) {
  const { answer, what, revision } = ran;
  const passed = answer.results.filter(({ outcome }) => outcome.passed).length;
  const of = what ? "Unsaved source" : `Revision ${revision}`;
  if (answer.load_error) {
    return (
      <Notice
        tone="bad"
        title={`${of} could not be loaded`}
        more={<pre className={styles.load}>{answer.load_error}</pre>}
      >
        No golden case was run.
      </Notice>
    );
  }
  const all = answer.results.length;
  return (
    <p role="status" className={styles.outcome} data-passed={answer.passed || undefined}>
      <b>
        {answer.passed ? `✓ ${of} passes all cases` : `✕ ${of} passes ${passed} of ${count(all, "case")}`}
      </b>
      {stale && <span>The source or the cases have changed: run again.</span>}
      {!stale && !answer.passed && <span>Jobs cannot use this revision until all cases pass.</span>}
    </p>
  );
}

/** The golden cases of a reward: run, read, deleted. */
export default function GoldenTab({ reward, unsaved, refusal }: Props) {
  const query = useQuery(goldenQuery(reward.id));
  const run = useRunGolden(reward.id);
  const remove = useDeleteGolden(reward.id);
  const [ran, setRan] = useState<Ran | null>(null);
  const [asking, setAsking] = useState<GoldenCase | null>(null);
  const cases = query.data?.data;
  const results = new Map(ran?.answer.results.map(({ case: id, outcome }) => [id, outcome]));
  const changed = ran?.what
    ? ran.what.source !== unsaved?.source || ran.what.entry !== unsaved?.entry
    : ran !== null && ran.revision !== reward.revision;
  const stale = changed || (ran !== null && (cases ?? []).some((one) => !results.has(one.id)));

  const start = (what: Draft | null) => {
    if (run.isPending) return;
    const body = what ? { source: what.source, entry: what.entry } : {};
    run.mutate(body, { onSuccess: (answer) => setRan({ what, revision: reward.revision, answer }) });
  };

  if (query.isError && !cases) {
    return (
      <Failure title="Could not load golden cases" error={query.error} retry={() => void query.refetch()} />
    );
  }
  if (!cases) return <SkeletonCard height={160} label="Loading golden cases" />;
  if (cases.length === 0) {
    return (
      <Empty
        title="No golden cases yet"
        action={
          <Link to="/rewards/$id" params={{ id: reward.id }}>
            Edit and test
          </Link>
        }
      >
        A golden case is a completion with its expected reward. Save one from a test result under “Edit and
        test” or from any completion of a job. Jobs start only with a reward that passes all cases.
      </Empty>
    );
  }
  return (
    <section aria-label="Golden cases" className={styles.golden}>
      <div className={styles.bar}>
        <p>{count(cases.length, "case")}, which a revision must pass before a job can use it.</p>
        {unsaved && (
          <GatedButton refusal={refusal} loading={run.isPending} onClick={() => start(unsaved)}>
            Run unsaved source
          </GatedButton>
        )}
        <GatedButton
          variant={unsaved ? "default" : "filled"}
          refusal={refusal}
          loading={run.isPending}
          onClick={() => start(null)}
        >
          Run revision {reward.revision}
        </GatedButton>
      </div>
      {run.error && <Failure title="Could not run the golden cases" error={run.error} />}
      {ran && <Outcome ran={ran} stale={stale} />}
      <ol className={styles.cases} data-stale={stale || undefined}>
        {cases.map((one) => (
          <li key={one.id}>
            <GoldenCard
              one={one}
              outcome={results.get(one.id)}
              action={
                refusal === null && (
                  <Button
                    variant="subtle"
                    size="compact-sm"
                    onClick={() => setAsking(one)}
                    aria-label={`Delete the case “${one.note ?? one.completion.slice(0, 40)}”`}
                  >
                    Delete
                  </Button>
                )
              }
            />
          </li>
        ))}
      </ol>
      <Confirm
        opened={asking !== null}
        onClose={() => setAsking(null)}
        title="Delete this golden case?"
        action="Delete case"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() =>
          asking &&
          remove.mutate(asking.id, {
            onSuccess: () => {
              toastDone("The golden case is deleted.");
              setAsking(null);
            },
          })
        }
      >
        Revisions no longer need to pass it. This cannot be undone. The completion itself is kept.
      </Confirm>
    </section>
  );
}
