import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Dataset, type DatasetReport, datasetsQuery, reportQuery } from "@/api/datasets";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { count, number, percent } from "@/lib/format";
import type { DatasetPlace, OnPlace } from "./place";
import styles from "./ReportTab.module.css";

type Leak = NonNullable<NonNullable<DatasetReport["leakage"]>["examples"]>[number];
type Repeated = NonNullable<NonNullable<DatasetReport["duplicates"]>["examples"]>[number];

const row = (at: number) => number(at + 1, 6);

const REPEATED: Column<Repeated>[] = [
  {
    head: "Prompt",
    grow: true,
    cell: (one) => (
      <span className={styles.text} title={one.text}>
        {one.text}
      </span>
    ),
  },
  { head: "Count", align: "right", cell: (one) => number(one.count, 6) },
  {
    head: "Rows",
    hide: "narrow",
    cell: (one) => `${one.rows.map(row).join(", ")}${one.count > one.rows.length ? ", …" : ""}`,
  },
];

const LEAKS: Column<Leak>[] = [
  {
    head: "Held-out prompt",
    grow: true,
    cell: (one) => (
      <span className={styles.text} title={one.held_out_text}>
        {one.held_out_text}
      </span>
    ),
  },
  { head: "Row", align: "right", cell: (one) => row(one.held_out_row) },
  {
    head: "Train prompt",
    grow: true,
    hide: "narrow",
    cell: (one) => (
      <span className={styles.text} title={one.train_text}>
        {one.train_text}
      </span>
    ),
  },
  { head: "Row ", align: "right", cell: (one) => row(one.train_row) },
  {
    head: "Similarity",
    align: "right",
    cell: (one) => (one.kind === "equal" ? "equal" : percent(one.similarity)),
  },
];

function Summary({ report }: { report: DatasetReport }) {
  const { advice = [], leakage } = report;
  if (advice.length === 0) {
    return (
      <Notice tone="info" title="No problems found">
        {count(report.compared ?? 0, "row")}: no duplicate prompts
        {leakage && "and no overlap between held-out and training prompts"}.
      </Notice>
    );
  }
  return (
    <Notice
      tone="warn"
      title={leakage?.equal || leakage?.near ? "Held-out prompts occur in training" : "Note"}
    >
      <ul className={styles.advice}>
        {advice.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Notice>
  );
}

function Findings({ report }: { report: DatasetReport }) {
  const leaks = report.leakage?.examples ?? [];
  const repeated = report.duplicates?.examples ?? [];
  return (
    <>
      <Summary report={report} />
      {leaks.length > 0 && (
        <section className={styles.part}>
          <h2>Held-out prompts in training</h2>
          <p>
            {number(report.leakage?.equal ?? 0, 6)} identical and {number(report.leakage?.near ?? 0, 6)}{" "}
            nearly identical of {count(report.leakage?.held_out ?? 0, "held-out row")}
            {(report.leakage?.equal ?? 0) + (report.leakage?.near ?? 0) > leaks.length && ". Examples:"}
          </p>
          <DataTable
            label="Held-out prompts in training"
            columns={LEAKS}
            rows={leaks}
            rowKey={(one) => `${one.held_out_row} ${one.train_row}`}
          />
        </section>
      )}
      {repeated.length > 0 && (
        <section className={styles.part}>
          <h2>Duplicate prompts</h2>
          <p>
            {count(report.duplicates?.prompts ?? 0, "prompt")} in several rows, ignoring case and white space
            {(report.duplicates?.prompts ?? 0) > repeated.length && ". The most frequent:"}
          </p>
          <DataTable
            label="Duplicate prompts"
            columns={REPEATED}
            rows={repeated}
            rowKey={(one) => one.rows[0] ?? one.text}
          />
        </section>
      )}
    </>
  );
}

type Props = { dataset: Dataset; place: DatasetPlace; onPlace: OnPlace };

/** Prompts that occur twice, and held-out prompts that are trained on: of the split, or of another dataset. */
export default function ReportTab({ dataset, place, onPlace }: Props) {
  const others = (useQuery(datasetsQuery).data?.data ?? []).filter((one) => one.id !== dataset.id);
  const query = useQuery(
    reportQuery(dataset.id, {
      seed: place.seed ?? 0,
      heldOutRows: place.held,
      splitBy: place.by ?? "row",
      heldOut: place.against,
    }),
  );
  const report = query.data;
  const split = `Split: seed ${place.seed ?? 0}${place.held === undefined ? "" : `, ${count(place.held, "row")}`}`;
  return (
    <>
      <div className={styles.choices}>
        <NativeSelect
          label="Held out"
          value={place.against ?? place.by ?? ""}
          data={[
            { value: "", label: `${split}, by row` },
            { value: "prompt", label: `${split}, duplicates kept together` },
            ...others.map((one) => ({ value: one.id, label: one.name })),
          ]}
          onChange={(event) => {
            const value = event.currentTarget.value;
            if (value === "" || value === "prompt") onPlace({ against: undefined, by: value || undefined });
            else onPlace({ against: value });
          }}
        />
      </div>
      {query.isError ? (
        <Failure
          title="Could not compare the prompts"
          error={query.error}
          retry={() => void query.refetch()}
        />
      ) : report?.status === "ready" ? (
        <Findings report={report} />
      ) : (
        <p className={styles.waiting} role="status" aria-busy="true">
          Comparing {count(dataset.rows, "prompt")}. A million rows take one or two minutes.
        </p>
      )}
    </>
  );
}
