import { Button, Group, Modal, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import {
  exportsQuery,
  type JobExport,
  type Tracker,
  trackersQuery,
  useStartExport,
  useStopExport,
} from "@/api/trackers";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Skeleton } from "@/components/Skeleton";
import { exportWords } from "./export-words";
import styles from "./ShareLinks.module.css";

type RowProps = { job: string; tracker: Tracker; of: JobExport | undefined; refusal: string | null };

function TrackerRow({ job, tracker, of, refusal }: RowProps) {
  const start = useStartExport(job);
  const stop = useStopExport(job);
  const error = start.error ?? stop.error;
  const begin = () => start.mutate(tracker.name);
  return (
    <li className={styles.row}>
      <span>
        {tracker.name}
        <small>
          {tracker.destination}
          {of && `, ${exportWords(of)}`}{" "}
          {of?.url && (
            <a href={of.url} target="_blank" rel="noreferrer">
              Open the run
            </a>
          )}
        </small>
      </span>
      <Group gap={6}>
        {(!of || of.state === "failed") && (
          <GatedButton
            size="compact-sm"
            variant="default"
            refusal={refusal}
            loading={start.isPending}
            aria-label={`Export to ${tracker.name}`}
            onClick={begin}
          >
            {of ? "Try again" : "Export"}
          </GatedButton>
        )}
        {of && of.state !== "done" && (
          <GatedButton
            size="compact-sm"
            variant="default"
            refusal={refusal}
            loading={stop.isPending}
            aria-label={`${of.state === "failed" ? "Remove the export" : "Stop exporting"} to ${tracker.name}`}
            onClick={() => stop.mutate(of.id)}
          >
            {of.state === "failed" ? "Remove" : "Stop"}
          </GatedButton>
        )}
      </Group>
      {of?.error && <p className={styles.text}>The last attempt failed: {of.error}</p>}
      {error && <Failure title="Could not change the export" error={error} />}
    </li>
  );
}

/** To which trackers a job is exported, and how far. */
export function TrackerExports({ job, onClose }: { job: string; onClose: () => void }) {
  const { refusal } = useAccess();
  const trackers = useQuery(trackersQuery);
  const exports = useQuery(exportsQuery(job));
  const failed = [trackers, exports].find((query) => query.isError && !query.data);
  const rows = trackers.data?.data;
  return (
    <Modal opened onClose={onClose} title="Export to a tracker" size="lg">
      <Stack gap="sm">
        <p className={styles.text}>
          Metrics, configuration, tags and the result go to Weights &amp; Biases or MLflow, also while the job
          runs.
        </p>
        {failed && (
          <Failure
            title={failed === trackers ? "Could not load trackers" : "Could not load the exports"}
            error={failed.error ?? new Error()}
            retry={() => void failed.refetch()}
          />
        )}
        {rows?.length === 0 && (
          <p className={styles.text}>
            The project has no trackers. Owners add them in the{" "}
            <Link to="/settings" search={{ tab: "trackers" }}>
              settings
            </Link>
            .
          </p>
        )}
        {rows && rows.length > 0 && exports.data && (
          <ul className={styles.list} aria-label="Trackers">
            {rows.map((one) => (
              <TrackerRow
                key={one.id}
                job={job}
                tracker={one}
                of={exports.data.data.find((row) => row.tracker === one.name)}
                refusal={refusal}
              />
            ))}
          </ul>
        )}
        {!failed && !(rows && exports.data) && <Skeleton height={60} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
