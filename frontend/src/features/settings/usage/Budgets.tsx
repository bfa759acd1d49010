import { Button, NativeSelect, NumberInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useAccess } from "@/api/access";
import { type Budget, type Period, type UsageKind, useRemoveBudget, useSetBudget } from "@/api/usage";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { toastFailed } from "@/lib/toast";
import styles from "./Usage.module.css";
import { amountWords, KINDS, TYPED } from "./usage-words";

const PERIODS: Record<Period, string> = { day: "per day", month: "per month", total: "total" };

const columns = (onRemove: ((budget: Budget) => void) | null): Column<Budget>[] => [
  { head: "Budget", grow: true, cell: (one) => `${KINDS[one.kind]}, ${PERIODS[one.period]}` },
  { head: "Used", align: "right", cell: (one) => amountWords(one.kind, one.used) },
  { head: "Limit", align: "right", cell: (one) => amountWords(one.kind, one.amount) },
  { head: "Status", hide: "narrow", cell: (one) => (one.exhausted ? "used up" : "open") },
  ...(onRemove
    ? [
        {
          head: "Action",
          align: "right" as const,
          cell: (one: Budget) => (
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Remove the budget of ${KINDS[one.kind]}, ${PERIODS[one.period]}`}
              onClick={() => onRemove(one)}
            >
              Remove
            </Button>
          ),
        },
      ]
    : []),
];

function NewBudget({ budgets }: { budgets: Budget[] }) {
  const [kind, setKind] = useState<UsageKind>("device_seconds");
  const [period, setPeriod] = useState<Period>("month");
  const [amount, setAmount] = useState<number | string>("");
  const set = useSetBudget();
  const [unit, size] = TYPED[kind];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const chosen = kind === "storage_bytes" ? "total" : period;
    const existing = budgets.find((one) => one.kind === kind && one.period === chosen);
    set.mutate({ etag: existing?.etag, kind, period: chosen, amount: Number(amount) * size });
  };
  return (
    <form onSubmit={submit}>
      <div className={styles.budget}>
        <NativeSelect
          label="Budget for"
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value as UsageKind)}
          data={Object.entries(KINDS).map(([value, label]) => ({ value, label }))}
        />
        <NativeSelect
          label="Period"
          value={kind === "storage_bytes" ? "total" : period}
          disabled={kind === "storage_bytes"}
          onChange={(event) => setPeriod(event.currentTarget.value as Period)}
          data={Object.entries(PERIODS).map(([value, label]) => ({ value, label }))}
        />
        <NumberInput label={unit} min={0} value={amount} onChange={setAmount} />
        <Button type="submit" variant="default" loading={set.isPending} disabled={amount === ""}>
          Set
        </Button>
      </div>
      {set.error && <Failure title="Could not set the budget" error={set.error} />}
    </form>
  );
}

/** What the project may use; owners change it. */
export function Budgets({ budgets }: { budgets: Budget[] }) {
  const { ownersOnly } = useAccess();
  const remove = useRemoveBudget();
  const onRemove = (budget: Budget) =>
    remove.mutate(budget, { onError: (error) => toastFailed("Could not remove the budget", error) });
  return (
    <>
      {budgets.length > 0 && (
        <DataTable
          label="Budgets"
          columns={columns(ownersOnly ? null : onRemove)}
          rows={budgets}
          rowKey={(one) => `${one.kind} ${one.period}`}
        />
      )}
      {!ownersOnly && <NewBudget budgets={budgets} />}
    </>
  );
}
