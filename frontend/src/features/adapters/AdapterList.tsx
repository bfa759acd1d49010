import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useAccess } from "@/api/access";
import {
  type Adapter,
  adapterDownloadUrl,
  adaptersQuery,
  betterThan,
  checkpointDownloadUrl,
  isBelowBase,
} from "@/api/adapters";
import { ButtonLink } from "@/components/ButtonLink";
import { Change } from "@/components/Change";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { distinctNames } from "@/lib/distinct-names";
import { ago, bytes, reward, signed } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import { MoreActions } from "./MoreActions";
import { UploadAdapter } from "./UploadAdapter";

/** Held-out reward of the checkpoint that is offered: the best one, or the final one where there is no best. */
const offered = (one: Adapter) => betterThan(one)?.held_out_reward ?? one.held_out_reward;

function OverBase({ one }: { one: Adapter }) {
  const value = offered(one);
  if (value === null || one.base_reward == null) return "–";
  const gain = value - one.base_reward;
  return <Change value={gain} text={signed(gain)} better="higher" />;
}

/** The best checkpoint; where none is better than the base, the job's page has the choice. */
function Download({ one }: { one: Adapter }) {
  const better = betterThan(one);
  const look = { variant: "default", size: "compact-sm" } as const;
  if (one.job && isBelowBase(one)) {
    return (
      <ButtonLink
        to="/jobs/$id"
        params={{ id: one.job }}
        search={{ tab: "checkpoints" }}
        {...look}
        title={`No checkpoint is better than base (${reward(one.base_reward)}).`}
        aria-label={`Choose a checkpoint of ${one.name}`}
      >
        Choose…
      </ButtonLink>
    );
  }
  return (
    <Button
      component="a"
      {...look}
      href={one.job && better ? checkpointDownloadUrl(one.job, better.step) : adapterDownloadUrl(one.id)}
      download
      aria-label={`Download ${one.name}, step ${better?.step ?? one.step}`}
    >
      Download
    </Button>
  );
}

const columns = (names: ReadonlyMap<string, string>): Column<Adapter>[] => [
  {
    head: "Adapter",
    grow: true,
    cell: (one) =>
      one.job ? (
        <Link
          to="/jobs/$id"
          params={{ id: one.job }}
          search={{ tab: "checkpoints" }}
          data-row
          title={one.name}
        >
          {names.get(one.id) ?? one.name}
        </Link>
      ) : (
        <span title={one.name}>
          {names.get(one.id) ?? one.name} <small>uploaded</small>
        </span>
      ),
  },
  { head: "Held-out reward", align: "right", cell: (one) => reward(offered(one)) },
  { head: "vs base", hide: "narrow", align: "right", cell: (one) => <OverBase one={one} /> },
  {
    head: "Step",
    hide: "narrow",
    align: "right",
    cell: (one) => (one.job ? (betterThan(one)?.step ?? one.step) : "–"),
  },
  { head: "Model", hide: "narrow", cell: (one) => one.model },
  { head: "Size", hide: "wide", align: "right", cell: (one) => bytes(one.bytes) },
  { head: "Created", hide: "narrow", align: "right", cell: (one) => ago(one.created_at) },
  {
    head: "Actions",
    align: "right",
    cell: (one) => (
      <span style={{ position: "relative", zIndex: 1, display: "inline-flex", gap: 6 }}>
        <ButtonLink
          to="/deployments"
          search={{ from: betterThan(one)?.id ?? one.id, job: one.job ?? undefined }}
          variant="default"
          size="compact-sm"
          aria-label={`Deploy ${one.name}`}
        >
          Deploy
        </ButtonLink>
        {one.job && (
          <ButtonLink
            to="/evaluations/new"
            search={{ from: betterThan(one)?.id ?? one.id, job: one.job }}
            variant="default"
            size="compact-sm"
            aria-label={`Evaluate ${one.name}`}
          >
            Evaluate
          </ButtonLink>
        )}
        <ButtonLink
          to="/jobs/new"
          search={{ model: betterThan(one)?.id ?? one.id }}
          variant="default"
          size="compact-sm"
          aria-label={`Train ${one.name} further`}
        >
          Train
        </ButtonLink>
        <Download one={one} />
        <MoreActions one={one} />
      </span>
    ),
  },
];

/** Adapters of jobs and uploaded ones, newest first; a row opens its job's checkpoints. */
export function AdapterList() {
  const { refusal } = useAccess();
  const adapters = useQuery(adaptersQuery);
  const rows = adapters.data?.data;
  const names = useMemo(() => distinctNames(rows ?? []), [rows]);
  const [uploading, setUploading] = useState(false);
  const upload = (
    <GatedButton refusal={refusal} variant="default" onClick={() => setUploading(true)}>
      Upload an adapter
    </GatedButton>
  );
  const onUploaded = ({ name }: Adapter) => {
    setUploading(false);
    toastDone(`${name} uploaded.`);
  };
  return (
    <Page title="Adapters" actions={upload}>
      {adapters.isError && !rows ? (
        <Failure
          title="Could not load adapters"
          error={adapters.error}
          retry={() => void adapters.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty
          title="No adapters yet"
          picture="adapter"
          action={
            refusal ? (
              <GatedButton refusal={refusal}>New job</GatedButton>
            ) : (
              <ButtonLink to="/jobs/new">New job</ButtonLink>
            )
          }
        >
          Adapters of succeeded jobs and uploaded ones are listed here: standard PEFT folders that you can
          download and load anywhere.
        </Empty>
      ) : (
        <DataTable
          label="Adapters"
          columns={columns(names)}
          rows={rows}
          rowKey={(one) => one.id}
          expected={3}
          keys
        />
      )}
      {uploading && <UploadAdapter onClose={() => setUploading(false)} onDone={onUploaded} />}
    </Page>
  );
}
