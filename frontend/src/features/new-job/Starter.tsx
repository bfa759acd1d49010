import { Button } from "@mantine/core";
import { ApiError } from "@/api/client";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { count } from "@/lib/format";
import styles from "./NewJob.module.css";

type Props = {
  problems: number;
  error: Error | null;
  busy: "checking" | "starting" | null;
  /** The whole specification was checked as it stands, and nothing was found. */
  clean: boolean;
  refusal: string | null;
  onCheck: () => void;
  onFirst: () => void;
};

/** The end of the form: what keeps the job from starting, the check, the start. */
export function Starter({ problems, error, busy, clean, refusal, onCheck, onFirst }: Props) {
  const hint = error instanceof ApiError ? error.hint : null;
  const offline = error instanceof ApiError && error.offline;
  return (
    <div className={styles.starter}>
      {error && (
        <Notice tone={offline ? "warn" : "bad"} title={offline ? "No connection" : "Not started"}>
          {error.message} {hint} {offline && "What you typed stays here."}
        </Notice>
      )}
      <div role="status" className={styles.verdict} data-clean={clean || undefined}>
        {problems > 0 ? (
          <button type="button" className={styles.jump} onClick={onFirst}>
            {count(problems, "problem")}: show the first
          </button>
        ) : clean ? (
          "Checked: nothing stands in the way."
        ) : (
          "The worker checks everything again before it starts."
        )}
      </div>
      <GatedButton
        type="submit"
        refusal={refusal}
        loading={busy === "starting"}
        disabled={busy === "checking"}
        fullWidth
      >
        Start the job
      </GatedButton>
      <Button variant="default" fullWidth loading={busy === "checking"} onClick={onCheck}>
        Check everything now
      </Button>
    </div>
  );
}
