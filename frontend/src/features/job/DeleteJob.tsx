import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { type JobDetail, useDeleteJob } from "@/api/jobs";
import { Confirm } from "@/components/Confirm";
import { GatedButton } from "@/components/GatedButton";
import { toastDone } from "@/lib/toast";

/** Deletes a job that has ended; says first what goes with it. */
export function DeleteJob({ job }: { job: JobDetail }) {
  const [asking, { open, close }] = useDisclosure(false);
  const { ownersOnly } = useAccess();
  const navigate = useNavigate();
  const remove = useDeleteJob(job.id);
  const leave = async () => {
    await navigate({ to: "/jobs" });
    toastDone(`${job.name} deleted.`);
  };
  return (
    <>
      <GatedButton variant="default" refusal={ownersOnly} onClick={open}>
        Delete…
      </GatedButton>
      <Confirm
        opened={asking}
        onClose={close}
        title={`Delete ${job.name}?`}
        action="Delete job"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => void leave() })}
      >
        <p>
          {job.adapter ? "Its adapter, checkpoints" : "Its checkpoints"}, completions, curves, log, labels and
          replays are deleted permanently. Download what you want to keep first.
        </p>
        <p>
          Its dataset, its saved rewards and its usage are kept. You cannot delete a job while a fork or a
          deployment depends on it.
        </p>
      </Confirm>
    </>
  );
}
