import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type Evaluation, evaluationQuery, type RowScores, scoresQuery } from "@/api/evaluations";
import { Failure } from "@/components/Failure";
import { Histogram } from "@/components/Histogram";
import { histogram, spread } from "@/lib/distribution";
import { count, number } from "@/lib/format";
import { AgainstPicker, Comparison } from "./Comparison";
import { rowsOf } from "./compare";
import styles from "./Evaluations.module.css";
import { Figures } from "./Figures";
import type { Place } from "./place";
import { RowPeek } from "./RowPeek";
import { RowTable } from "./RowTable";
import { titleOf } from "./words";

function Distribution({ data }: { data: readonly RowScores[] }) {
  const values = useMemo(() => data.flatMap(({ rewards }) => rewards.filter((one) => one !== null)), [data]);
  const facts = spread(values);
  if (!facts) return null;
  return (
    <div className={styles.chart}>
      <Histogram
        title="Rewards"
        unit="reward"
        what="completions"
        bins={histogram(values)}
        name={({ low, high }) => (low === high ? number(low) : `${number(low)} to ${number(high)}`)}
        summary={`${count(values.length, "reward")} from ${number(facts.min)} to ${number(facts.max)}, median ${number(facts.median)}, mean ${number(facts.mean)}.`}
      />
    </div>
  );
}

type Props = {
  of: Evaluation;
  /** Undefined while they are loading. */
  scores: { data: RowScores[]; pass_above: number } | undefined;
  adapters: ReadonlyMap<string, string>;
  place: Place;
  onPlace: (place: Place) => void;
};

/** What an evaluation came to, alone or beside another one. */
export function Results({ of, scores, adapters, place, onPlace }: Props) {
  const { against, sorted: order = "row", row } = place;
  const other = useQuery({ ...evaluationQuery(against ?? ""), enabled: against !== undefined });
  const theirs = useQuery({ ...scoresQuery(against ?? ""), enabled: against !== undefined });
  const beside = against !== undefined && other.data && theirs.data ? other.data : undefined;
  const rows = useMemo(
    () => scores && rowsOf(scores.data, beside ? theirs.data?.data : undefined),
    [scores, beside, theirs.data],
  );
  const failed = against === undefined ? null : (other.error ?? theirs.error);
  const sides = [
    { id: of.id, title: titleOf(of, adapters) },
    ...(beside ? [{ id: beside.id, title: titleOf(beside, adapters) }] : []),
  ];
  return (
    <>
      {of.summary && <Figures summary={of.summary} />}
      <AgainstPicker
        of={of}
        against={against}
        adapters={adapters}
        onAgainst={(id) => onPlace({ ...place, against: id, sorted: id ? "fell" : undefined })}
      />
      {failed && <Failure title="Could not load the other evaluation" error={failed} />}
      {beside && rows && scores && theirs.data && (
        <Comparison
          of={of}
          other={beside}
          own={scores.data}
          theirs={theirs.data.data}
          rows={rows}
          passAbove={scores.pass_above}
          adapters={adapters}
        />
      )}
      {!beside && scores && <Distribution data={scores.data} />}
      <RowTable
        rows={rows}
        beside={beside !== undefined}
        order={beside || (order !== "fell" && order !== "rose") ? order : "row"}
        onOrder={(next) => onPlace({ ...place, sorted: next === "row" ? undefined : next })}
        onOpen={(next) => onPlace({ ...place, row: next })}
      />
      {row !== undefined && (
        <RowPeek
          row={row}
          dataset={of.dataset}
          sides={sides}
          onClose={() => onPlace({ ...place, row: undefined })}
        />
      )}
    </>
  );
}
