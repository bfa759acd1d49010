import { useDebouncedValue } from "@mantine/hooks";
import type { StreamState } from "@/api/stream";
import styles from "./Connection.module.css";

type Props = { state: StreamState; held: boolean; onHold: (held: boolean) => void; step: number };

/** A connection that is back within this time was never worth a word. */
const PATIENCE_MS = 1500;

/** How fresh the picture is while the job is under way, and the switch that holds it still. */
export function Connection({ state, held, onHold, step }: Props) {
  const [settled] = useDebouncedValue(state, PATIENCE_MS);
  if (state === "ended") return null;
  const lost = state === "reconnecting" && settled === "reconnecting";
  const words = held ? `Frozen at step ${step}` : lost ? `Reconnecting… shown up to step ${step}` : "Live";
  return (
    <span className={styles.box} data-state={held ? "held" : lost ? "lost" : "live"}>
      <span role="status">{words}</span>
      <button
        type="button"
        onClick={() => onHold(!held)}
        title={held ? "Show the newest data again" : "Stop updating this page; no data is lost"}
      >
        {held ? "Back to live" : "Freeze view"}
      </button>
    </span>
  );
}
