import { Dropzone } from "@mantine/dropzone";
import styles from "./FileDrop.module.css";

type Props = {
  /** What to drop: "a JSONL, CSV or Parquet file". */
  what: string;
  note: string;
  onFile: (file: File) => void;
  busy?: boolean;
  maxBytes?: number;
  onTooLarge?: () => void;
};

/** One file, dropped or chosen. What is in it is the server's to judge, so every ending is taken. */
export function FileDrop({ what, note, onFile, busy = false, maxBytes, onTooLarge }: Props) {
  return (
    <Dropzone
      className={styles.zone}
      multiple={false}
      loading={busy}
      maxSize={maxBytes}
      onReject={onTooLarge}
      onDrop={([file]) => file && onFile(file)}
      inputProps={{ "aria-label": `Choose ${what}` }}
    >
      Drop {what} here or <b>browse</b>
      <small>{note}</small>
    </Dropzone>
  );
}
