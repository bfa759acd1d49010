import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { changesQuery, useChangeReward } from "@/api/job-changes";
import { isFinal, jobQuery } from "@/api/jobs";
import type { Replay } from "@/api/replays";
import { Confirm } from "@/components/Confirm";
import { GatedButton } from "@/components/GatedButton";
import styles from "./Replay.module.css";

type Props = { replay: Replay; revision: number; refusal: string | null };

/** While the job runs: let the revision score from the next step on. */
export function ApplyChange({ replay, revision, refusal }: Props) {
  const job = useQuery({ ...jobQuery(replay.job), refetchInterval: 5_000 }).data;
  const running = job !== undefined && !isFinal(job.status);
  const changes = useQuery({ ...changesQuery(replay.job), refetchInterval: running ? 2_000 : false });
  const change = useChangeReward(replay.job);
  const [asking, { open, close }] = useDisclosure(false);
  const last = changes.data?.data.findLast((one) => one.reward === replay.reward);
  const mine = last?.revision === `${replay.stored}@${revision}` ? last : undefined;
  if (!job) return null;
  return (
    <div className={styles.apply}>
      {mine ? (
        <p role="status">
          {mine.step == null
            ? `Revision ${revision} is requested: it scores from the next step on.`
            : `Revision ${revision} is in use since step ${mine.step}.`}{" "}
          <Link to="/jobs/$id" params={{ id: job.id }}>
            Open the job
          </Link>
        </p>
      ) : running ? (
        <GatedButton variant="default" refusal={refusal} onClick={open}>
          Apply from the next step
        </GatedButton>
      ) : (
        <p>The job has ended; start a new job with this revision.</p>
      )}
      <Confirm
        opened={asking}
        onClose={close}
        title={`Score with revision ${revision} from the next step?`}
        action="Apply"
        busy={change.isPending}
        error={change.error}
        onConfirm={() =>
          change.mutate({ reward: replay.reward, stored: replay.stored, revision }, { onSuccess: close })
        }
      >
        <p>
          “{job.name}” continues with the new reward. The golden cases must pass first. Curves show a mark at
          the step, and each completion shows its revision.
        </p>
        <p>Finished steps do not change.</p>
      </Confirm>
    </div>
  );
}
