import type { BaseModel } from "@/api/models";
import { bytes } from "@/lib/format";
import styles from "./Models.module.css";

const PHASES: Record<string, string> = {
  waiting: "Waiting for a worker",
  looking: "Reading the files",
  downloading: "Downloading",
  hashing: "Hashing the files",
};

/** How far a worker is with the inspection of a model. */
export function InspectionProgress({ progress }: { progress: BaseModel["progress"] }) {
  const { phase = "waiting", done, total } = progress ?? {};
  return (
    <div className={styles.waiting}>
      <progress
        aria-label="Inspection in progress"
        value={total ? (done ?? 0) : undefined}
        max={total ?? undefined}
      />
      <p>
        <span role="status">{PHASES[phase]}</span>
        {total ? `, ${bytes(done)} of ${bytes(total)}` : ""}
      </p>
      <p className={styles.faint}>It continues when you leave this page.</p>
    </div>
  );
}
