import type { Job } from "@/api/jobs";
import { Change } from "@/components/Change";
import { NOTHING, reward, signed } from "@/lib/format";
import styles from "./JobTable.module.css";

/** Held-out reward before → now, and by how much it changed. */
export function HeldOut({ job }: { job: Job }) {
  const { held_out_reward: now, held_out_reward_before: before } = job;
  const shaped = job.held_out_includes_shaping && (
    <span className={styles.faint} title="Includes the shaping of the preset: the job was created before 0.2">
      shaped
    </span>
  );
  if (now == null) {
    return <span className={styles.faint}>{before == null ? NOTHING : `${reward(before)} before`}</span>;
  }
  if (before == null) {
    return (
      <span className={styles.heldOut}>
        <b className={styles.now}>{reward(now)}</b>
        {shaped}
      </span>
    );
  }
  return (
    <span className={styles.heldOut}>
      <span className={styles.faint}>{reward(before)} →</span>
      <b className={styles.now}>{reward(now)}</b>
      <Change value={now - before} text={signed(now - before)} better="higher" />
      {shaped}
    </span>
  );
}
