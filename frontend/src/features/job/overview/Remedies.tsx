import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccess } from "@/api/access";
import type { Schemas } from "@/api/client";
import { useForkJob } from "@/api/forks";
import { useChangeSettings } from "@/api/job-changes";
import { useCancelJob } from "@/api/jobs";
import { Confirm } from "@/components/Confirm";
import { Failure } from "@/components/Failure";
import styles from "./TrainingCheck.module.css";

type Remedy = Schemas["Remedy"];
type Props = { job: string; stopped: boolean; remedies: readonly Remedy[]; children: ReactNode };

/** What a finding proposes, with one press each, behind other buttons. Viewers cannot press any. */
export function Remedies({ job, stopped, remedies, children }: Props) {
  const { refusal } = useAccess();
  const offered = remedies.filter(({ kind }) => !(stopped && kind === "apply_live"));
  const navigate = useNavigate();
  const fork = useForkJob(job);
  const change = useChangeSettings(job);
  const cancel = useCancelJob(job);
  const [asking, { open, close }] = useDisclosure();
  const openCheckpoints = () =>
    void navigate({ to: "/jobs/$id", params: { id: job }, search: { tab: "checkpoints" } });
  const apply = ({ kind, step, set }: Remedy) => {
    if (kind === "fork")
      fork.mutate(
        { step: step ?? null, set: set ?? {} },
        { onSuccess: ({ id }) => void navigate({ to: "/jobs/$id", params: { id } }) },
      );
    else if (kind === "apply_live")
      change.mutate(Object.entries(set ?? {}).map(([setting, value]) => ({ setting, value: Number(value) })));
    else if (stopped) openCheckpoints();
    else open();
  };
  const busy = fork.isPending || change.isPending;
  const error = fork.error ?? change.error;
  if (offered.length === 0 && !children) return null;
  return (
    <div className={styles.remedies}>
      {children}
      {offered.map((remedy) => (
        <Button
          key={remedy.label}
          variant="default"
          size="compact-sm"
          title={refusal ?? undefined}
          disabled={refusal !== null || busy || (remedy.kind === "apply_live" && change.isSuccess)}
          onClick={() => apply(remedy)}
        >
          {stopped && remedy.kind === "stop_and_take" ? `Take step ${remedy.step}` : remedy.label}
        </Button>
      ))}
      {error && <Failure title="Could not apply it" error={error} />}
      <Confirm
        opened={asking}
        onClose={close}
        title="Stop this job?"
        action="Stop and open checkpoints"
        keep="Keep running"
        onConfirm={() => cancel.mutate(undefined, { onSuccess: openCheckpoints })}
        busy={cancel.isPending}
        error={cancel.error}
      >
        A cancelled job cannot be resumed. Its checkpoints are kept.
      </Confirm>
    </div>
  );
}
