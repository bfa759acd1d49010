import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { type Evaluation, evaluationsQuery, type RowScores } from "@/api/evaluations";
import { Histogram } from "@/components/Histogram";
import { Notice } from "@/components/Notice";
import { histogram } from "@/lib/distribution";
import { ago, count, number, signed } from "@/lib/format";
import { differences, METRIC_WORDS, type Row } from "./compare";
import styles from "./Evaluations.module.css";
import { Interval } from "./Interval";
import { FEW_ROWS, movedWords, titleOf, unlike, verdict } from "./words";

type PickerProps = {
  of: Evaluation;
  against: string | undefined;
  adapters: ReadonlyMap<string, string>;
  onAgainst: (id: string | undefined) => void;
};

/** Selects the evaluation to compare with; those of the same dataset first. */
export function AgainstPicker({ of, against, adapters, onAgainst }: PickerProps) {
  const list = useInfiniteQuery(evaluationsQuery).data?.pages.flatMap((page) => page.data) ?? [];
  const others = list.filter((one) => one.id !== of.id && one.status === "succeeded");
  const item = (one: Evaluation) => ({
    value: one.id,
    label: `${titleOf(one, adapters)} · ${ago(one.created_at)}`,
  });
  const same = others.filter((one) => one.dataset === of.dataset).map(item);
  const rest = others.filter((one) => one.dataset !== of.dataset).map(item);
  return (
    <NativeSelect
      className={styles.against}
      label="Compare with"
      value={against ?? ""}
      data={[
        { value: "", label: others.length > 0 ? "None" : "No other finished evaluation" },
        ...(same.length > 0 ? [{ group: "On the same dataset", items: same }] : []),
        ...(rest.length > 0 ? [{ group: "On other datasets", items: rest }] : []),
        ...(against && !others.some(({ id }) => id === against) ? [against] : []),
      ]}
      onChange={(event) => onAgainst(event.currentTarget.value || undefined)}
    />
  );
}

type Props = {
  of: Evaluation;
  other: Evaluation;
  own: readonly RowScores[];
  theirs: readonly RowScores[];
  rows: readonly Row[];
  passAbove: number;
  adapters: ReadonlyMap<string, string>;
};

/** By how much it differs from another one, row by row. */
export function Comparison({ of, other, own, theirs, rows, passAbove, adapters }: Props) {
  const changesByMetric = differences(own, theirs, passAbove);
  const name = titleOf(other, adapters);
  const first = changesByMetric[0];
  if (!first)
    return (
      <Notice tone="warn" title={`${name} shares no rows with this evaluation`}>
        Run both on the same dataset with the same split, seed and number of rows.
      </Notice>
    );
  const apart = unlike(of, other);
  const ends = changesByMetric.flatMap(({ change }) => [change.low, change.high]);
  const reach = Math.max(0.01, ...ends.map(Math.abs));
  const changes = rows.flatMap(({ change }) => (change === null ? [] : [change]));
  return (
    <section aria-label={`Compared with ${name}`} className={styles.part}>
      <p role="status" className={styles.said}>
        {verdict(first, name)} {movedWords(rows)}
      </p>
      {apart.length > 0 && (
        <Notice tone="warn" title="Different settings">
          Differences: {apart.join(", ")}. The change includes their effect.
        </Notice>
      )}
      {first.rows < FEW_ROWS && (
        <Notice tone="warn" title={`Only ${count(first.rows, "common row")}`}>
          An interval over fewer than {FEW_ROWS} rows is narrower than it should be.
        </Notice>
      )}
      <dl className={styles.figures}>
        {changesByMetric.map(({ metric, change }) => (
          <div key={metric}>
            <dt>{METRIC_WORDS[metric][0]}</dt>
            <dd>
              <b>{signed(change.value)}</b>
              <Interval of={change} scale={[-reach, reach]} mark={0} />
              <small>{`${signed(change.low)} to ${signed(change.high)}`}</small>
            </dd>
          </div>
        ))}
      </dl>
      {changes.length > 1 && (
        <div className={styles.chart}>
          <Histogram
            title="Change per row"
            unit="reward"
            what="rows"
            bins={histogram(changes)}
            name={({ low, high }) => (low === high ? signed(low) : `${signed(low)} to ${signed(high)}`)}
            summary={`${movedWords(rows)} Largest decrease ${signed(Math.min(0, ...changes))}, largest increase ${signed(
              Math.max(0, ...changes),
            )} over ${number(changes.length, 6)} rows.`}
          />
        </div>
      )}
    </section>
  );
}
