import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type Usage, type UsageKind, usageQuery } from "@/api/usage";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Budgets } from "./Budgets";
import styles from "./Usage.module.css";
import { amountWords, bars, KINDS, sourcePage } from "./usage-words";

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
        aria-label={`${title} by day over ${usage.days.length} days: ${total}${kind === "storage_bytes" ? " now" : " total"}`}
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

/** What had the largest share of anything, as the server orders it. */
function Sources({ of }: { of: Usage }) {
  const rows = of.sources.slice(0, SOURCES);
  if (rows.length === 0) return null;
  const amount = (head: string, kind: UsageKind, hide?: "narrow"): Column<Source> => ({
    head,
    align: "right",
    ...(hide && { hide }),
    cell: (one) => amountWords(kind, one.amounts[kind] ?? 0),
  });
  return (
    <DataTable
      label="Usage by source"
      columns={[
        { head: "Source", grow: true, cell: (one) => <SourceName of={one} /> },
        amount("Compute time", "device_seconds"),
        amount("Sampled", "sampled_tokens", "narrow"),
        amount("Trained", "trained_tokens", "narrow"),
        amount("Served", "served_output_tokens", "narrow"),
        amount("Judges", "judge_spend", "narrow"),
      ]}
      rows={rows}
      rowKey={(one) => one.source}
    />
  );
}

function SourceName({ of }: { of: Source }) {
  const name = of.name ?? of.source;
  const to = sourcePage(of);
  if (!to) return <>{name}</>;
  return (
    <Link to={to} params={{ id: of.source }} data-row title={name}>
      {name}
    </Link>
  );
}

/** What the project has used, by day, and what it may use. */
export function UsageSection() {
  const usage = useQuery(usageQuery(DAYS));
  if (usage.isError && !usage.data)
    return <Failure title="Could not load usage" error={usage.error} retry={() => void usage.refetch()} />;
  if (!usage.data) return null;
  const kinds = Object.keys(KINDS) as UsageKind[];
  const visible = kinds.filter((kind) => ALWAYS.includes(kind) || (usage.data.totals[kind] ?? 0) > 0);
  return (
    <>
      <div className={styles.grid}>
        {visible.map((kind) => (
          <Days key={kind} usage={usage.data} kind={kind} />
        ))}
      </div>
      <Budgets budgets={usage.data.budgets} />
      <Sources of={usage.data} />
    </>
  );
}
