import { Button, Progress } from "@mantine/core";
import { Dropzone } from "@mantine/dropzone";
import { type Dataset, type Upload, useUpload } from "@/api/datasets";
import { FileDrop } from "@/components/FileDrop";
import { Notice } from "@/components/Notice";
import { UploadProblems } from "@/components/UploadProblems";
import { bytes } from "@/lib/format";
import styles from "./UploadPanel.module.css";

type Going = Extract<Upload, { phase: "sending" | "checking" }>;

function Sending({ upload, onCancel }: { upload: Going; onCancel: () => void }) {
  const share = upload.phase === "sending" ? upload.sent / Math.max(1, upload.total) : 1;
  const waiting = upload.phase === "sending" && upload.waiting;
  const doing =
    upload.phase === "sending"
      ? `${bytes(upload.sent)} of ${bytes(upload.total)} sent${waiting ? ". The server does not respond; the upload resumes automatically." : ""}`
      : `${bytes(upload.file.size)} sent, checking every row`;
  return (
    <div className={styles.sending}>
      <div className={styles.line}>
        <b>{upload.file.name}</b>
        <span>{doing}</span>
        <Button variant="default" size="compact-sm" onClick={onCancel}>
          Cancel
        </Button>
      </div>
      <Progress
        value={share * 100}
        animated={upload.phase === "checking"}
        color={waiting ? "var(--ink2)" : undefined}
        size="sm"
        aria-label={`Upload of ${upload.file.name}`}
      />
      <span className="visually-hidden" role="status">
        {upload.phase === "checking"
          ? "Upload complete. Validating the file."
          : waiting
            ? "The server does not respond. The upload resumes automatically."
            : "Uploading the file."}
      </span>
    </div>
  );
}

/** Takes a file dropped anywhere on the page or chosen here, shows it travel, and says why it was refused. */
export function UploadPanel({ refusal, onDone }: { refusal: string | null; onDone: (one: Dataset) => void }) {
  const { upload, start, reset } = useUpload(onDone);
  if (refusal) {
    return (
      <Notice tone="info" title="Read only">
        {refusal} Only editors and owners can upload datasets.
      </Notice>
    );
  }
  const busy = upload.phase === "sending" || upload.phase === "checking";
  return (
    <>
      <Dropzone.FullScreen
        // A file that is dropped on the field below would leave it open.
        key={String(busy)}
        active={!busy}
        multiple={false}
        activateOnKeyboard={false}
        onDrop={([file]) => file && void start(file)}
        aria-label="Drop the file anywhere on this page"
      >
        <div className={styles.everywhere}>
          <b>Drop a file anywhere on this page</b>
          JSONL, CSV or Parquet, one prompt per row
        </div>
      </Dropzone.FullScreen>
      {busy ? (
        <Sending upload={upload} onCancel={reset} />
      ) : (
        <FileDrop
          what="a JSONL, CSV or Parquet file"
          note="One prompt per row. Columns may have any names: you choose the prompt and the answer next. An interrupted upload continues when you drop the file again."
          onFile={(file) => void start(file)}
        />
      )}
      {upload.phase === "refused" && (
        <UploadProblems
          title={
            upload.error.offline ? "Not uploaded" : `${upload.file.name} was rejected; no data was saved`
          }
          error={upload.error}
          onSkip={() => void start(upload.file, true)}
        />
      )}
    </>
  );
}
