import { Button, Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import {
  checkpointsQuery,
  isCancellable,
  isFinal,
  isPausable,
  type JobDetail,
  useCancelJob,
  usePauseJob,
  useResumeJob,
} from "@/api/jobs";
import { reportCardUrl } from "@/api/reports";
import { Confirm } from "@/components/Confirm";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { count } from "@/lib/format";
import { CompareWith } from "./CompareWith";
import { WeightsActions } from "./checkpoints/WeightsActions";
import { DeleteJob } from "./DeleteJob";
import { ArchiveJob } from "./labels/ArchiveJob";
import { NotifyMe } from "./share/NotifyMe";
import { ShareMenu } from "./share/ShareMenu";
import { ChangeReward } from "./steer/ChangeReward";
import { ChangeSettings } from "./steer/ChangeSettings";

type Props = { job: JobDetail; step: number; mayWrite: boolean };

/** What cancelling costs and what it leaves. */
function Costs({ job, step }: { job: JobDetail; step: number }) {
  const saved = useQuery(checkpointsQuery(job.id)).data?.data ?? [];
  const newest = saved.reduce((most, one) => Math.max(most, one.step), 0);
  return (
    <>
      <p>
        {step > 0
          ? `The ${step} of ${job.progress.steps} steps done so far do not produce a final adapter, and a cancelled job cannot be resumed.`
          : "Training has not started yet. A cancelled job cannot be resumed."}
      </p>
      <p>
        Kept: curves, completions and the log
        {saved.length > 0
          ? `, and ${count(saved.length, "checkpoint")} to download, the newest from step ${newest}`
          : ""}
        .
      </p>
    </>
  );
}

/** What another value or revision can take over from the next step on. */
function Change({ job, refusal }: { job: JobDetail; refusal: string | null }) {
  const [settings, onSettings] = useDisclosure(false);
  const [reward, onReward] = useDisclosure(false);
  if (refusal) {
    return (
      <GatedButton variant="default" refusal={refusal}>
        Change…
      </GatedButton>
    );
  }
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" title="Applies from the next step on.">
            Change…
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>Applies from the next step on</Menu.Label>
          <Menu.Item onClick={onSettings.open}>Learning rate, temperature, KL, clip range…</Menu.Item>
          <Menu.Item onClick={onReward.open}>Reward…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ChangeSettings job={job.id} opened={settings} onClose={onSettings.close} />
      <ChangeReward job={job} opened={reward} onClose={onReward.close} />
    </>
  );
}

const NO_RIGHT = "Your key can only read this project.";

/** What a person can do with the job; cancelling says what is lost first. */
export function JobActions({ job, step, mayWrite }: Props) {
  const [asking, { open, close }] = useDisclosure(false);
  const cancel = useCancelJob(job.id);
  const pause = usePauseJob(job.id);
  const resume = useResumeJob(job.id);
  const refusal = mayWrite ? null : NO_RIGHT;
  return (
    <>
      {resume.error && <Failure title="Could not resume the job" error={resume.error} />}
      {pause.error && <Failure title="Could not pause the job" error={pause.error} />}
      {!isFinal(job.status) && <Change job={job} refusal={refusal} />}
      {isPausable(job.status) && (
        <GatedButton
          variant="default"
          refusal={refusal}
          loading={pause.isPending}
          onClick={() => pause.mutate()}
          title="Stops after the current step with a checkpoint and frees the worker. You can resume it later."
        >
          Pause
        </GatedButton>
      )}
      {job.status === "paused" && (
        <GatedButton
          variant="default"
          refusal={refusal}
          loading={resume.isPending}
          onClick={() => resume.mutate()}
          title="Continues from the pause with the code the job was created with."
        >
          Resume
        </GatedButton>
      )}
      {isCancellable(job.status) && (
        <GatedButton variant="default" refusal={refusal} onClick={open}>
          Cancel…
        </GatedButton>
      )}
      {job.adapter ? (
        <WeightsActions job={job} adapter={job.adapter} />
      ) : (
        !isFinal(job.status) && (
          <GatedButton refusal="The adapter is available when the job has succeeded.">
            Download adapter
          </GatedButton>
        )
      )}
      {isFinal(job.status) && step > 0 && (
        <Button
          component="a"
          variant="default"
          href={reportCardUrl(job.id)}
          target="_blank"
          rel="noopener"
          title="Compares base and adapter on held-out rows, with intervals and what got worse. Opens in a new tab."
        >
          Report card
        </Button>
      )}
      <NotifyMe job={job} />
      <CompareWith job={job} />
      <ShareMenu job={job} />
      {isFinal(job.status) && <ArchiveJob job={job} />}
      {isFinal(job.status) && <DeleteJob job={job} />}
      <Confirm
        opened={asking}
        onClose={close}
        title="Cancel this job?"
        action="Cancel job"
        keep="Keep running"
        onConfirm={() => cancel.mutate(undefined, { onSuccess: close })}
        busy={cancel.isPending}
        error={cancel.error}
      >
        <Costs job={job} step={step} />
      </Confirm>
    </>
  );
}
