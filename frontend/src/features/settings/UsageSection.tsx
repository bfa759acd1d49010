import { useQuery } from "@tanstack/react-query";
import { type Usage, type UsageKind, usageQuery } from "@/api/project-usage";
import { Failure } from "@/components/Failure";
import { Budgets } from "./Budgets";
import styles from "./Usage.module.css";
import { amountWords, bars, KINDS } from "./usage-words";

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
    </>
  );
}
