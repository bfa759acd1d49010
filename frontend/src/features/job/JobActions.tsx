import { Button, Group, Modal, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { adapterDownloadUrl } from "@/api/adapters";
import { isCancellable, type JobDetail, useCancelJob, useResumeJob } from "@/api/jobs";
import { Failure } from "@/components/Failure";

/** What a person can do with the job; cancelling says what is lost first. */
export function JobActions({ job, step, mayWrite }: { job: JobDetail; step: number; mayWrite: boolean }) {
  const [asking, { open, close }] = useDisclosure(false);
  const cancel = useCancelJob(job.id);
  const resume = useResumeJob(job.id);
  const confirm = () => cancel.mutate(undefined, { onSuccess: close });
  return (
    <>
      {resume.error && <Failure title="Not resumed" error={resume.error} />}
      {mayWrite && job.status === "paused" && (
        <Button
          variant="default"
          loading={resume.isPending}
          onClick={() => resume.mutate()}
          title="Goes on from where it paused, with the code it was created with."
        >
          Resume
        </Button>
      )}
      {mayWrite && isCancellable(job.status) && (
        <Button variant="default" onClick={open}>
          Cancel…
        </Button>
      )}
      {job.adapter ? (
        <Button component="a" href={adapterDownloadUrl(job.adapter)} download>
          Download adapter
        </Button>
      ) : (
        <Button disabled title="The adapter is there when the job has succeeded.">
          Download adapter
        </Button>
      )}
      <Modal opened={asking} onClose={close} title="Cancel this job?">
        <Text mb="sm">
          {step > 0
            ? `The ${step} of ${job.progress.steps} steps done so far do not become an adapter, and a cancelled job cannot be continued.`
            : "Nothing has been trained yet; a cancelled job cannot be continued."}
        </Text>
        <Text c="dimmed" mb="md">
          Its curves, completions, checkpoints and logs stay readable.
        </Text>
        {cancel.error && <Failure title="Not cancelled" error={cancel.error} />}
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={close} data-autofocus>
            Keep running
          </Button>
          <Button color="red" variant="light" loading={cancel.isPending} onClick={confirm}>
            Cancel the job
          </Button>
        </Group>
      </Modal>
    </>
  );
}
