import { useAccess } from "@/api/access";
import { type JobDetail, useUpdateJob } from "@/api/jobs";
import { GatedButton } from "@/components/GatedButton";
import { toastFailed } from "@/lib/toast";

/** Hides an ended job from lists, or lists it again. */
export function ArchiveJob({ job }: { job: JobDetail }) {
  const { refusal } = useAccess();
  const update = useUpdateJob(job.id);
  return (
    <GatedButton
      variant="default"
      refusal={refusal}
      loading={update.isPending}
      title={job.archived ? "Lists the job again." : "Hides the job from lists. All its data is kept."}
      onClick={() =>
        update.mutate(
          { etag: "*", archived: !job.archived },
          { onError: (error) => toastFailed("Could not archive the job", error) },
        )
      }
    >
      {job.archived ? "Unarchive" : "Archive"}
    </GatedButton>
  );
}
