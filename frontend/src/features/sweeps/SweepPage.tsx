import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { type SweepDetail, type SweepTrial, sweepQuery, useCancelSweep } from "@/api/sweeps";
import { Confirm } from "@/components/Confirm";
import { Crumb } from "@/components/Crumb";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { Page, Tag } from "@/components/Page";
import { Skeleton } from "@/components/Skeleton";
import { StatePill } from "@/components/StatePill";
import { count, duration, number, reward } from "@/lib/format";
import { Importance } from "./Importance";
import { ParallelPlot } from "./ParallelPlot";
import type { SweepPlace } from "./place";
import styles from "./Sweeps.module.css";
import { TrialTable } from "./TrialTable";
import { comparisonOf } from "./trials";
import { METHODS, reasonOf, startedOf } from "./words";

type Props = {
  id: string;
  place: SweepPlace;
  onPlace: (place: SweepPlace) => void;
  onTrial: (trial: SweepTrial) => void;
};

function Cancel({ sweep }: { sweep: SweepDetail }) {
  const { refusal } = useAccess();
  const [opened, dialog] = useDisclosure();
  const cancel = useCancelSweep();
  return (
    <>
      <GatedButton variant="default" refusal={refusal} onClick={dialog.open}>
        Cancel…
      </GatedButton>
      <Confirm
        opened={opened}
        onClose={dialog.close}
        title="Cancel this sweep?"
        action="Cancel the sweep"
        keep="Continue"
        busy={cancel.isPending}
        error={cancel.error}
        onConfirm={() => cancel.mutate(sweep.id, { onSuccess: dialog.close })}
      >
        Jobs that have not ended are cancelled, and no more are started. Their stored results are kept.
      </Confirm>
    </>
  );
}

function Actions({ sweep }: { sweep: SweepDetail }) {
  const comparison = comparisonOf(sweep);
  return (
    <>
      {comparison && (
        <Link to="/compare" search={comparison} className={styles.action}>
          Compare the jobs
        </Link>
      )}
      {sweep.status === "running" && <Cancel sweep={sweep} />}
    </>
  );
}

function Best({ sweep }: { sweep: SweepDetail }) {
  const { best } = sweep;
  if (!best) return null;
  const setting = sweep.settings.find((one) => one.setting === best.setting);
  return (
    <Notice
      tone="info"
      title={`Best: ${setting?.name ?? "a job"}, held-out reward ${reward(best.objective)}`}
    >
      {setting &&
        setting.measured > 1 &&
        `Mean of ${setting.measured} seeds: ${reward(setting.objective)}, ${reward(setting.low)} to ${reward(setting.high)}. `}
      {best.job && (
        <Link to="/jobs/$id" params={{ id: best.job }}>
          {best.adapter ? "Its job and adapter" : "Its job"}
        </Link>
      )}
      {best.job && ". "}
      {"The best of many results is partly chance: confirm it with other seeds."}
    </Notice>
  );
}

function Notes({ sweep }: { sweep: SweepDetail }) {
  const reason = reasonOf(sweep.reason);
  return (
    <>
      {sweep.notice && (
        <Notice tone="warn" title="Waiting">
          {sweep.notice}
        </Notice>
      )}
      {reason && (
        <Notice tone={sweep.status === "failed" ? "bad" : "info"} title="Ended early">
          {reason}
        </Notice>
      )}
      {sweep.warnings.map((warning) => (
        <p key={warning} className={styles.none}>
          {warning}
        </p>
      ))}
    </>
  );
}

function Content({ sweep, place, onPlace, onTrial }: Omit<Props, "id"> & { sweep: SweepDetail }) {
  if (sweep.trials.length === 0)
    return <p className={styles.none}>No job has been started yet. It takes a few seconds.</p>;
  return (
    <>
      <Best sweep={sweep} />
      <TrialTable sweep={sweep} by={place.by} onBy={(by) => onPlace({ ...place, by })} />
      <h2 className={styles.head}>Settings and held-out reward</h2>
      <ParallelPlot sweep={sweep} onTrial={onTrial} />
      <h2 className={styles.head}>Importance</h2>
      <Importance sweep={sweep} />
    </>
  );
}

/** One sweep: its best adapter, its jobs, and how settings and held-out reward go together. */
export function SweepPage({ id, ...rest }: Props) {
  const query = useQuery(sweepQuery(id));
  const sweep = query.data;
  const crumbs = [
    <Link key="all" to="/sweeps">
      Sweeps
    </Link>,
    <Crumb key="sweep" id={id} name={sweep?.name} />,
  ];
  if (query.isError && !sweep)
    return (
      <Page title="Sweep" crumbs={crumbs}>
        <Failure title="Could not load the sweep" error={query.error} retry={() => void query.refetch()} />
      </Page>
    );
  if (!sweep)
    return (
      <Page title="Sweep" crumbs={crumbs} meta={<Skeleton width={320} height={22} />}>
        <div role="status" aria-label="Loading" aria-busy>
          <Skeleton height={240} />
        </div>
      </Page>
    );
  const meta = (
    <>
      <StatePill state={sweep.status} />
      <Tag>{METHODS[sweep.method] ?? sweep.method}</Tag>
      <span>{`${startedOf(sweep)} of ${count(sweep.planned, "job")}`}</span>
      {sweep.seconds > 0 && <span>{`${duration(sweep.seconds)} of worker time`}</span>}
      {sweep.cost !== null && <span>{`cost ${number(sweep.cost, 2)}`}</span>}
    </>
  );
  return (
    <Page title={sweep.name} crumbs={crumbs} meta={meta} actions={<Actions sweep={sweep} />}>
      <div className={styles.page}>
        <Notes sweep={sweep} />
        <Content sweep={sweep} {...rest} />
      </div>
    </Page>
  );
}
