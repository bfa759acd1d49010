import { useCheckpointNow } from "@/api/job-changes";
import type { JobDetail } from "@/api/jobs";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import styles from "./Checkpoints.module.css";

type Props = {
  job: JobDetail;
  /** Step of the newest checkpoint; 0 for none. */
  newest: number;
  refusal: string | null;
};

/** Of a job that runs: a checkpoint after the step under way, not at the next regular step. */
export function CheckpointNow({ job, newest, refusal }: Props) {
  const ask = useCheckpointNow(job.id);
  if (job.status !== "running") return null;
  const waiting = ask.isSuccess && newest <= ask.variables;
  return (
    <div className={styles.now}>
      <GatedButton
        variant="default"
        refusal={refusal}
        loading={ask.isPending}
        disabled={waiting}
        onClick={() => ask.mutate(newest)}
      >
        Save checkpoint
      </GatedButton>
      {waiting && <span role="status">The checkpoint is saved after the current step.</span>}
      {ask.error && <Failure title="Could not request the checkpoint" error={ask.error} />}
    </div>
  );
}
