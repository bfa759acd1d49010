import { Button } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useAccess } from "@/api/access";
import { isCancellable, isFinal, type Job } from "@/api/jobs";
import { type BulkAction, useBulk } from "@/api/jobs-bulk";
import { Confirm } from "@/components/Confirm";
import { GatedButton } from "@/components/GatedButton";
import { count } from "@/lib/format";
import { toastDone, toastFailed } from "@/lib/toast";
import styles from "./JobList.module.css";

type Props = {
  jobs: readonly Job[];
  onClear: () => void;
  /** Further actions on the selected jobs, such as Compare. */
  children?: ReactNode;
};

const WORDS: Record<BulkAction, { label: string; done: string; text: string }> = {
  cancel: {
    label: "Cancel",
    done: "cancelled",
    text: "They cannot be resumed. Curves and checkpoints are kept.",
  },
  archive: { label: "Archive", done: "archived", text: "" },
  unarchive: { label: "Unarchive", done: "listed again", text: "" },
  delete: {
    label: "Delete",
    done: "deleted",
    text: "Their adapters, checkpoints, completions and curves are deleted permanently.",
  },
};

/** What can be done with the selected jobs. Each job is changed by itself: failures are reported by name. */
export default function BulkActions({ jobs, onClear, children }: Props) {
  const { refusal, ownersOnly } = useAccess();
  const [asking, setAsking] = useState<BulkAction>();
  const bulk = useBulk();
  const fitting: Record<BulkAction, Job[]> = {
    cancel: jobs.filter((job) => isCancellable(job.status)),
    archive: jobs.filter((job) => isFinal(job.status) && !job.archived),
    unarchive: jobs.filter((job) => job.archived),
    delete: jobs.filter((job) => isFinal(job.status)),
  };
  const start = (action: BulkAction) =>
    bulk.mutate(
      { action, jobs: fitting[action] },
      {
        onSuccess: ({ done, failures }) => {
          setAsking(undefined);
          if (done > 0) toastDone(`${count(done, "job")} ${WORDS[action].done}.`);
          for (const { job, error } of failures) toastFailed(`${job.name}: not ${WORDS[action].done}`, error);
          if (failures.length === 0) onClear();
        },
      },
    );
  const button = (action: BulkAction, reason: string | null, asks: boolean) =>
    fitting[action].length > 0 && (
      <GatedButton
        variant="default"
        refusal={reason}
        loading={bulk.isPending && bulk.variables?.action === action}
        onClick={() => (asks ? setAsking(action) : start(action))}
      >
        {WORDS[action].label} {fitting[action].length}
        {asks && "…"}
      </GatedButton>
    );
  return (
    <div className={styles.bulk}>
      <span role="status">{count(jobs.length, "job")} selected</span>
      {children}
      {button("archive", refusal, false)}
      {button("unarchive", refusal, false)}
      {button("cancel", refusal, true)}
      {button("delete", ownersOnly, true)}
      <Button variant="subtle" onClick={onClear}>
        Clear
      </Button>
      <Confirm
        opened={asking !== undefined}
        onClose={() => setAsking(undefined)}
        title={asking ? `${WORDS[asking].label} ${count(fitting[asking].length, "job")}?` : ""}
        action={asking ? `${WORDS[asking].label} ${count(fitting[asking].length, "job")}` : ""}
        keep="Keep jobs"
        busy={bulk.isPending}
        error={bulk.error}
        onConfirm={() => asking && start(asking)}
      >
        <p>{asking && WORDS[asking].text}</p>
      </Confirm>
    </div>
  );
}
