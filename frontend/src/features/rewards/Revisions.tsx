import { Select } from "@mantine/core";
import { useDisclosure, useMediaQuery } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { RewardDetail, RewardRevision } from "@/api/rewards";
import { CodeBlock } from "@/components/CodeBlock";
import { Confirm } from "@/components/Confirm";
import { CodeDiff } from "@/components/code/CodeDiff";
import { GatedButton } from "@/components/GatedButton";
import { UploadProblems } from "@/components/UploadProblems";
import { ago, count } from "@/lib/format";
import type { OnPlace, RewardPlace } from "./place";
import styles from "./Revisions.module.css";
import { useRewardJobs } from "./RewardJobs";

type Props = {
  reward: RewardDetail;
  place: RewardPlace;
  onPlace: OnPlace;
  refusal: string | null;
  busy: boolean;
  error: Error | null;
  onRestore: (revision: RewardRevision) => void;
};

/** Every stored source: what changed from one to the next, which jobs used it, and the way back to it. */
export function Revisions({ reward, place, onPlace, refusal, busy, error, onRestore }: Props) {
  const narrow = useMediaQuery("(max-width: 900px)");
  const [asking, { open, close }] = useDisclosure(false);
  const { jobs, revisions: used } = useRewardJobs(reward.id);
  const all = reward.revisions.toSorted((a, b) => b.revision - a.revision);
  const selected = all.find((one) => one.revision === place.revision) ?? all[0];
  if (!selected) return null;
  const before = all.find((one) => one.revision === (place.against ?? selected.revision - 1));
  const usedBy = (revision: number) => (jobs ?? []).filter((job) => used.get(job.id) === revision);
  const newest = selected.revision === reward.revision ? "This is the newest revision." : null;

  return (
    <div className={styles.columns}>
      <ol className={styles.list} aria-label="Revisions">
        {all.map((one) => {
          const users = usedBy(one.revision);
          return (
            <li key={one.revision} aria-current={one.revision === selected.revision || undefined}>
              <Link
                to="/rewards/$id"
                params={{ id: reward.id }}
                search={{ ...place, tab: "revisions", revision: one.revision, against: undefined }}
                activeOptions={{ includeSearch: true, explicitUndefined: true }}
                resetScroll={false}
              >
                <b>Revision {one.revision}</b>
                <span>{ago(one.created_at)}</span>
                <code>{one.sha256.slice(0, 8)}</code>
                <span>{users.length > 0 ? count(users.length, "job") : "no job"}</span>
              </Link>
            </li>
          );
        })}
      </ol>
      <div className={styles.shown}>
        <div className={styles.bar}>
          <h2>
            {before
              ? `From revision ${before.revision} to ${selected.revision}`
              : `Revision ${selected.revision}`}
          </h2>
          {all.length > 1 && (
            <Select
              aria-label="Compare with"
              size="xs"
              w={170}
              allowDeselect={false}
              data={all
                .filter((one) => one.revision !== selected.revision)
                .map((one) => ({ value: String(one.revision), label: `Diff to revision ${one.revision}` }))}
              value={before ? String(before.revision) : null}
              placeholder="Compare with…"
              onChange={(value) => onPlace({ against: Number(value) })}
            />
          )}
          <GatedButton variant="default" size="compact-sm" refusal={refusal ?? newest} onClick={open}>
            Restore as revision {reward.revision + 1}
          </GatedButton>
        </div>
        {usedBy(selected.revision).length > 0 && (
          <p className={styles.jobs}>
            Used by{" "}
            {usedBy(selected.revision)
              .slice(0, 5)
              .map((job, i) => (
                <span key={job.id}>
                  {i > 0 && ", "}
                  <Link to="/jobs/$id" params={{ id: job.id }}>
                    {job.name}
                  </Link>
                </span>
              ))}
          </p>
        )}
        {error && <UploadProblems title="Could not restore the revision" error={error} />}
        {before?.source === selected.source && (
          <p className={styles.jobs}>Both revisions have the same source.</p>
        )}
        {before && before.source !== selected.source ? (
          <div className={styles.diff}>
            <CodeDiff
              before={before.source}
              after={selected.source}
              labels={[`Revision ${before.revision}`, `Revision ${selected.revision}`]}
              unified={narrow ?? false}
            />
          </div>
        ) : (
          <CodeBlock text={selected.source} label={`Source of revision ${selected.revision}`} numbered />
        )}
      </div>
      <Confirm
        opened={asking}
        onClose={close}
        title={`Restore revision ${selected.revision}?`}
        action="Restore"
        busy={busy}
        onConfirm={() => {
          onRestore(selected);
          close();
        }}
      >
        Its source is saved as revision {reward.revision + 1}. Revision {reward.revision} is kept, and jobs
        keep the revision they started with.
      </Confirm>
    </div>
  );
}
