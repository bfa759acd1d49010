import { Button } from "@mantine/core";
import { ApiError } from "@/api/client";
import page from "@/components/FormPage.module.css";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { count } from "@/lib/format";
import { TimeBefore } from "./suggested/TimeBefore";

type Props = {
  problems: number;
  error: Error | null;
  busy: "checking" | "starting" | "preflight" | null;
  /** Suggested values are on their way, without which the job would be another one. */
  waiting: boolean;
  /** The full check of this specification found no problem. */
  clean: boolean;
  refusal: string | null;
  onCheck: () => void;
  /** Asks a worker for a few steps without learning. */
  onPreflight: () => void;
  onFirst: () => void;
};

/** The end of the form: what keeps the job from starting, the check, the pre-flight, the start. */
export function Starter(props: Props) {
  const { problems, error, busy, waiting, clean, refusal, onCheck, onPreflight, onFirst } = props;
  const hint = error instanceof ApiError ? error.hint : null;
  const offline = error instanceof ApiError && error.offline;
  return (
    <div className={page.starter}>
      {error && (
        <Notice tone={offline ? "warn" : "bad"} title={offline ? "No connection" : "Could not start the job"}>
          {error.message} {hint} {offline && "Your input is kept."}
        </Notice>
      )}
      <div role="status" className={page.verdict} data-clean={clean || undefined}>
        {problems > 0 ? (
          <button type="button" className={page.jump} onClick={onFirst}>
            {count(problems, "problem")}: show the first
          </button>
        ) : clean ? (
          "All checks passed."
        ) : (
          "The worker repeats the checks before the start."
        )}
      </div>
      <TimeBefore waiting={waiting} />
      <GatedButton
        type="submit"
        refusal={refusal}
        loading={busy === "starting"}
        disabled={waiting || busy === "checking" || busy === "preflight"}
        fullWidth
      >
        Start job
      </GatedButton>
      <GatedButton
        variant="default"
        refusal={refusal}
        loading={busy === "preflight"}
        disabled={waiting || (busy !== null && busy !== "preflight")}
        fullWidth
        onClick={onPreflight}
        title="A worker runs a few steps without learning and estimates reward, time and memory of the job"
      >
        Run pre-flight
      </GatedButton>
      <Button variant="default" fullWidth loading={busy === "checking"} disabled={waiting} onClick={onCheck}>
        Validate
      </Button>
    </div>
  );
}
