import { Button, Progress } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { isOver, type Preflight, preflightQuery, useCancelPreflight } from "@/api/preflights";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { SkeletonCard } from "@/components/Skeleton";
import { ago } from "@/lib/format";
import { type Draft, toSpec } from "../draft";
import { useForm } from "../form";
import { sameButSuggested } from "../suggested/suggested";
import styles from "./Preflight.module.css";
import { PreflightReport } from "./PreflightReport";
import { progressWords } from "./preflight-words";

type Props = {
  id: string;
  /** What the form says now. */
  spec: Draft;
  draft: Draft;
  refusal: string | null;
  onClose: () => void;
};

function Running({ one, refusal }: { one: Preflight; refusal: string | null }) {
  const cancel = useCancelPreflight(one.id);
  const words = progressWords(one);
  return (
    <div className={styles.running}>
      <Progress value={one.progress.percent} aria-label="Pre-flight" />
      <p role="status">{words}</p>
      <GatedButton
        variant="default"
        size="compact-sm"
        refusal={refusal}
        loading={cancel.isPending || one.status === "cancelling"}
        onClick={() => cancel.mutate()}
      >
        Cancel pre-flight
      </GatedButton>
      {cancel.error && <Failure title="Could not cancel the pre-flight" error={cancel.error} />}
    </div>
  );
}

/** Why there is no report, with the way to the log. */
function Ended({ one }: { one: Preflight }) {
  const log = (
    <Link to="/jobs/$id" params={{ id: one.id }} search={{ tab: "logs" }}>
      Log
    </Link>
  );
  if (one.error) {
    return (
      <Notice
        tone="bad"
        title="Pre-flight failed"
        action={log}
        more={one.error.traceback && <pre className={styles.trace}>{one.error.traceback}</pre>}
      >
        {one.error.message} {one.error.hint}
      </Notice>
    );
  }
  return (
    <Notice
      tone="info"
      title={one.status === "cancelled" ? "Cancelled" : "Ended without a report"}
      action={log}
    >
      No report. You can run it again.
    </Notice>
  );
}

/** A pre-flight from its start to its report. */
export default function PreflightPanel({ id, spec, draft, refusal, onClose }: Props) {
  const { basis } = useForm();
  const query = useQuery(preflightQuery(id));
  const heading = useRef<HTMLHeadingElement>(null);
  const one = query.data;
  const over = one !== undefined && isOver(one.status);
  const changed = one !== undefined && !sameButSuggested(toSpec(basis, one.spec as Draft), spec, draft);

  // The button is at the end of the form: the panel scrolls into view when it opens.
  useEffect(() => {
    heading.current?.scrollIntoView({ block: "start" });
    heading.current?.focus({ preventScroll: true });
  }, []);

  return (
    <section className={styles.panel} aria-labelledby="part-preflight">
      <header>
        <h2 id="part-preflight" ref={heading} tabIndex={-1}>
          Pre-flight
        </h2>
        {one && (
          <small>{over ? `of ${ago(one.created_at)}` : "a few steps of the job, without learning"}</small>
        )}
        {(over || query.isError) && (
          <Button variant="subtle" size="compact-sm" onClick={onClose}>
            Close
          </Button>
        )}
      </header>
      {query.isError && !one && (
        <Failure
          title="Could not load the pre-flight"
          error={query.error}
          retry={() => void query.refetch()}
        />
      )}
      {query.isPending && <SkeletonCard height={120} label="Loading the pre-flight" />}
      {one && !over && <Running one={one} refusal={refusal} />}
      {changed && over && one.report && (
        <Notice tone="info" title="The form has changed">
          This report is for the earlier settings. Run it again for the current ones.
        </Notice>
      )}
      {one?.report && <PreflightReport report={one.report} />}
      {over && (!one.report || one.error) && <Ended one={one} />}
    </section>
  );
}
