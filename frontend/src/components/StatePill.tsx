import styles from "./StatePill.module.css";

type Tone = "ok" | "wait" | "warn" | "bad" | "off";

/** The state's word and tone; colour is never the only sign (dot, ring or bar, and the word). */
const STATES: Record<string, [string, Tone]> = {
  validating: ["Checking", "wait"],
  queued: ["Queued", "wait"],
  starting: ["Starting", "wait"],
  running: ["Running", "ok"],
  pausing: ["Pausing", "warn"],
  paused: ["Paused", "warn"],
  cancelling: ["Cancelling", "wait"],
  succeeded: ["Succeeded", "ok"],
  failed: ["Failed", "bad"],
  cancelled: ["Cancelled", "off"],
  adding: ["Adding", "wait"],
  ready: ["Ready", "ok"],
  loading: ["Loading", "wait"],
  draining: ["Draining", "warn"],
  stopped: ["Stopped", "off"],
  pending: ["Waiting", "wait"],
  delivered: ["Delivered", "ok"],
};

type Props = {
  state: string;
  /** Why a success is not a plain one: "no change". */
  note?: string | null | undefined;
};

export function StatePill({ state, note }: Props) {
  const [word, tone] = STATES[state] ?? [state, "off"];
  return (
    <span className={styles.pill} data-tone={note && tone === "ok" ? "warn" : tone} title={note ?? undefined}>
      <i aria-hidden="true" />
      <span className={styles.words}>
        {word}
        {note && ` · ${note}`}
      </span>
    </span>
  );
}
