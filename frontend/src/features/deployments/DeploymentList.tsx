import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { type Deployment, deploymentsQuery } from "@/api/deployments";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { StatePill } from "@/components/StatePill";
import { ago, count, NOTHING, number } from "@/lib/format";
import { Ask } from "./Ask";
import { DeployForm } from "./DeployForm";
import { DeploymentActions } from "./DeploymentActions";
import styles from "./Deployments.module.css";

export type Place = { show?: string; from?: string; job?: string };
type Props = { place: Place; onPlace: (place: Place) => void };

const whole = (value: number) => number(value, 12);

/** What is behind the name: a step of a job, or the base model. */
function Weights({ of }: { of: Deployment }) {
  if (of.step === null || of.step === undefined) return <>{of.model}, the base</>;
  const words = `${of.model}, step ${of.step}`;
  if (!of.job) return <>{words}</>;
  return (
    <Link to="/jobs/$id" params={{ id: of.job }} search={{ tab: "checkpoints" }} className={styles.inner}>
      {words}
    </Link>
  );
}

function columns(
  selected: Deployment | undefined,
  onShow: (name: string) => void,
  refusal: string | null,
  onPoint: (of: Deployment) => void,
): Column<Deployment>[] {
  return [
    {
      head: "Name",
      cut: true,
      cell: (one) => (
        <button
          type="button"
          data-row
          title={one.name}
          aria-pressed={one.id === selected?.id}
          className={styles.name}
          onClick={() => onShow(one.name)}
        >
          {one.name}
        </button>
      ),
    },
    { head: "Status", cell: (one) => <StatePill state={one.state} /> },
    { head: "Weights", hide: "narrow", grow: true, cell: (one) => <Weights of={one} /> },
    { head: "Active", hide: "medium", align: "right", cell: (one) => one.under_way },
    { head: "Requests", hide: "narrow", align: "right", cell: (one) => whole(one.usage.requests) },
    { head: "Input tokens", hide: "medium", align: "right", cell: (one) => whole(one.usage.prompt_tokens) },
    {
      head: "Output tokens",
      hide: "medium",
      align: "right",
      cell: (one) => whole(one.usage.completion_tokens),
    },
    {
      head: "Last request",
      hide: "medium",
      align: "right",
      cell: (one) => (one.last_used_at ? ago(one.last_used_at) : NOTHING),
    },
    {
      head: "Actions",
      align: "right",
      cell: (one) => <DeploymentActions of={one} refusal={refusal} onPoint={() => onPoint(one)} />,
    },
  ];
}

/** Numbers of one deployment in words, for screens too narrow for their columns. */
function Counts({ of }: { of: Deployment }) {
  const {
    requests,
    failed_requests: failed,
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
  } = of.usage;
  return (
    <p className={styles.counts}>
      {`${count(requests, "request")}${failed ? `, ${whole(failed)} failed` : ""}: `}
      {`${count(promptTokens, "token")} in, ${whole(completionTokens)} out.`}
    </p>
  );
}

/** Names that any OpenAI client can ask; a row shows how. */
export function DeploymentList({ place, onPlace }: Props) {
  const { refusal } = useAccess();
  const deployments = useQuery(deploymentsQuery);
  const [pointing, setPointing] = useState<Deployment>();
  const rows = deployments.data?.data;
  const selected = rows?.find((one) => one.name === place.show) ?? rows?.[0];
  const add = (
    <GatedButton refusal={refusal} onClick={() => onPlace({ ...place, from: "" })}>
      New deployment
    </GatedButton>
  );
  return (
    <Page title="Deployments" actions={(rows ? rows.length > 0 : deployments.isError) && add}>
      {deployments.isError && !rows ? (
        <Failure
          title="Could not load deployments"
          error={deployments.error}
          retry={() => void deployments.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No deployments yet" picture="adapter" action={add}>
          A deployment serves an adapter under a model name for any OpenAI client. A worker loads it on the
          first request; deployments of one base model share memory.
        </Empty>
      ) : (
        <div className={styles.page}>
          <DataTable
            label="Deployments"
            columns={columns(selected, (show) => onPlace({ show }), refusal, setPointing)}
            rows={rows}
            rowKey={(one) => one.id}
            expected={2}
            keys
          />
          {selected?.error && (
            <Notice
              tone={selected.state === "failed" ? "warn" : "info"}
              title={`${selected.name} did not respond`}
            >
              {selected.error.message} {selected.error.hint} The next request tries again.
            </Notice>
          )}
          {selected && <Counts of={selected} />}
          {selected && <Ask key={selected.id} of={selected} />}
        </div>
      )}
      {rows && (place.from !== undefined || pointing) && !refusal && (
        <DeployForm
          key={pointing?.id ?? place.from}
          from={pointing ? undefined : place.from || undefined}
          job={pointing ? undefined : place.job}
          of={pointing}
          taken={rows.map(({ name }) => name)}
          onClose={() => {
            setPointing(undefined);
            onPlace({ show: place.show });
          }}
          onDone={(show) => {
            setPointing(undefined);
            onPlace({ show });
          }}
        />
      )}
    </Page>
  );
}
