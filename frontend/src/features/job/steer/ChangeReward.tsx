import { Button, Group, Modal, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { changesQuery, useChangeReward } from "@/api/job-changes";
import type { JobDetail } from "@/api/jobs";
import { type RewardDetail, rewardQuery } from "@/api/rewards";
import { CodeDiff } from "@/components/code/CodeDiff";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Skeleton } from "@/components/Skeleton";
import { ago } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import styles from "./ChangeReward.module.css";
import { GoldenGate, useGoldenGate } from "./GoldenGate";
import { type LiveReward, liveRewards } from "./live-reward";

/** The diff of the revision, on request. */
function Differs({ reward, from, to }: { reward: RewardDetail; from: number; to: number }) {
  const [open, setOpen] = useState(false);
  const source = (number: number) => reward.revisions.find((one) => one.revision === number)?.source ?? "";
  return (
    <details className={styles.differs} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Changes in revision {to} changes</summary>
      {open && (
        <CodeDiff
          before={source(from)}
          after={source(to)}
          labels={[`Revision ${from}`, `Revision ${to}`]}
          unified
        />
      )}
    </details>
  );
}

type FormProps = {
  job: JobDetail;
  all: readonly LiveReward[];
  onClose: () => void;
};

/** Which revision of which reward, what its golden cases say of it, and the way to a replay before. */
function Form({ job, all, onClose }: FormProps) {
  const [name, setName] = useState(all[0]?.name ?? "");
  const [selectedRevision, setSelectedRevision] = useState<number | null>(null);
  const change = useChangeReward(job.id);
  const now = all.find((one) => one.name === name) ?? (all[0] as LiveReward);
  const reward = useQuery(rewardQuery(now.stored));
  const others = (reward.data?.revisions ?? [])
    .filter((one) => one.revision !== now.revision)
    .toSorted((a, b) => b.revision - a.revision);
  const revision = selectedRevision ?? others[0]?.revision ?? null;
  const gate = useGoldenGate(now.stored, revision);
  const apply = () => {
    if (revision === null) return;
    const done = () => {
      toastDone(`“${now.name}” scores with revision ${revision} from the next step on.`);
      onClose();
    };
    change.mutate({ reward: now.name, stored: now.stored, revision }, { onSuccess: done });
  };
  return (
    <div className={styles.form}>
      <p className={styles.about}>
        The current step keeps the old reward. Curves show a mark, each completion shows its revision, and
        finished steps do not change.
      </p>
      {all.length > 1 && (
        <NativeSelect
          label="Reward"
          value={now.name}
          data={all.map((one) => one.name)}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setSelectedRevision(null);
          }}
        />
      )}
      {reward.isError && !reward.data && (
        <Failure title="Could not load the reward" error={reward.error} retry={() => void reward.refetch()} />
      )}
      {reward.isPending && <Skeleton height={120} />}
      {reward.data && revision === null && (
        <p>
          “{now.name}” has revision {now.revision} only.{" "}
          <Link to="/rewards/$id" params={{ id: now.stored }}>
            Write another
          </Link>{" "}
          first and save it.
        </p>
      )}
      {reward.data && revision !== null && (
        <>
          <NativeSelect
            label={`Replaces revision ${now.revision}`}
            value={String(revision)}
            data={others.map((one) => ({
              value: String(one.revision),
              label: `revision ${one.revision}, stored ${ago(one.created_at)}`,
            }))}
            onChange={(event) => setSelectedRevision(Number(event.currentTarget.value))}
          />
          <Differs key={revision} reward={reward.data} from={now.revision} to={revision} />
          <GoldenGate reward={now.stored} gate={gate} />
          <p>
            <Link
              to="/rewards/$id"
              params={{ id: now.stored }}
              search={{ tab: "replay", job: job.id, revision }}
            >
              Replay first
            </Link>
            to see its scores for the completions of this job.
          </p>
        </>
      )}
      {change.error && <Failure title="Could not change the reward" error={change.error} />}
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <GatedButton
          refusal={revision === null ? "No other revision." : gate.refusal}
          loading={change.isPending}
          onClick={apply}
        >
          Change from the next step
        </GatedButton>
      </Group>
    </div>
  );
}

/** While the job has not ended: another stored revision scores from the next step on. */
export function ChangeReward({
  job,
  opened,
  onClose,
}: {
  job: JobDetail;
  opened: boolean;
  onClose: () => void;
}) {
  const changes = useQuery({ ...changesQuery(job.id), enabled: opened }).data?.data;
  const all = liveRewards(job.resolved_spec, changes ?? []);
  return (
    <Modal opened={opened} onClose={onClose} title="Change the reward from the next step" size="lg">
      {!changes ? (
        <Skeleton height={120} />
      ) : all.length > 0 ? (
        <Form job={job} all={all} onClose={onClose} />
      ) : (
        <p>The rewards of this job are inline code. Only a saved reward has revisions to change to.</p>
      )}
    </Modal>
  );
}
