import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { deploymentsQuery } from "@/api/deployments";
import { type Usage, type UsageKind, usageQuery } from "@/api/project-usage";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Budgets } from "./Budgets";
import styles from "./Usage.module.css";
import { amountWords, bars, KINDS } from "./usage-words";

type Source = Usage["sources"][number];

const DAYS = 30;
const ALWAYS: UsageKind[] = ["device_seconds", "sampled_tokens", "trained_tokens", "storage_bytes"];

function Days({ usage, kind }: { usage: Usage; kind: UsageKind }) {
  const total = amountWords(kind, usage.totals[kind] ?? 0);
  const title = KINDS[kind];
  return (
    <figure className={styles.figure}>
      <figcaption>
        <b>{title}</b>
        <span>{total}</span>
      </figcaption>
      <div
        className={styles.plot}
        role="img"
        aria-label={`${title} by day over ${usage.days.length} days: ${total}${kind === "storage_bytes" ? " now" : " in all"}`}
      >
        {bars(usage.days, kind).map(({ day, amount, share }) => (
          <div
            key={day}
            className={styles.bar}
            style={{ height: `${share * 100}%` }}
            title={`${day}: ${amountWords(kind, amount)}`}
          />
        ))}
      </div>
      <div className={styles.ends}>
        <span>{usage.first_day}</span>
        <span>{usage.last_day}</span>
      </div>
    </figure>
  );
}

const SOURCES = 10;

/** The jobs and deployments that used most of the workers' time. */
function Sources({ of }: { of: Usage }) {
  const rows = of.sources
    .toSorted((a, b) => (b.amounts.device_seconds ?? 0) - (a.amounts.device_seconds ?? 0))
    .slice(0, SOURCES);
  if (rows.length === 0) return null;
  const amount = (head: string, kind: UsageKind, hide?: "narrow"): Column<Source> => ({
    head,
    align: "right",
    ...(hide && { hide }),
    cell: (one) => amountWords(kind, one.amounts[kind] ?? 0),
  });
  return (
    <DataTable
      label="What used it"
      columns={[
        { head: "Job or deployment", grow: true, cell: (one) => <SourceName of={one} /> },
        amount("Workers' time", "device_seconds"),
        amount("Sampled", "sampled_tokens", "narrow"),
        amount("Trained", "trained_tokens", "narrow"),
      ]}
      rows={rows}
      rowKey={(one) => one.source}
    />
  );
}

function SourceName({ of }: { of: Source }) {
  const deployments = useQuery(deploymentsQuery).data?.data;
  const name = of.name ?? deployments?.find(({ id }) => id === of.source)?.name ?? of.source;
  if (!of.source.startsWith("ftjob-")) return <>{name}</>;
  return (
    <Link to="/jobs/$id" params={{ id: of.source }} data-row title={name}>
      {name}
    </Link>
  );
}

/** What the project has used, by day, and what it may use. */
export function UsageSection() {
  const usage = useQuery(usageQuery(DAYS));
  if (usage.isError && !usage.data)
    return (
      <Failure title="Usage could not be loaded" error={usage.error} retry={() => void usage.refetch()} />
    );
  if (!usage.data) return null;
  const known = Object.keys(KINDS) as UsageKind[];
  const shown = known.filter((kind) => ALWAYS.includes(kind) || (usage.data.totals[kind] ?? 0) > 0);
  return (
    <>
      <div className={styles.grid}>
        {shown.map((kind) => (
          <Days key={kind} usage={usage.data} kind={kind} />
        ))}
      </div>
      <Budgets budgets={usage.data.budgets} />
      <Sources of={usage.data} />
    </>
  );
}
