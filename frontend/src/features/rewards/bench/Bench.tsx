import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { datasetsQuery } from "@/api/datasets";
import { useAttackSource } from "@/api/reward-attack";
import { type Granularity, useTestSource } from "@/api/rewards";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { count } from "@/lib/format";
import { useShortcuts } from "@/lib/shortcuts";
import type { OnPlace, RewardPlace } from "../place";
import { attackOn } from "./attack";
import styles from "./Bench.module.css";
import { flatten, MOST_TESTED, type Run, readChoice, writeChoice } from "./bench";
import { CaseList } from "./CaseList";
import { Results } from "./Results";
import { RowPicker } from "./RowPicker";
import { SampleBar } from "./SampleBar";
import { BY_HAND, type Example, STORED, type useCases } from "./use-cases";
import type { useStored } from "./use-stored";

const Attack = lazy(() => import("./Attack").then((room) => ({ default: room.Attack })));
const KeepFromBench = lazy(() => import("./KeepFromBench"));

type Props = {
  /** The stored reward, which can keep golden cases. */
  reward: string | undefined;
  source: string;
  entry: string | null;
  granularity: Granularity;
  bench: ReturnType<typeof useCases>;
  stored: ReturnType<typeof useStored>;
  run: Run | null;
  onRun: (run: Run) => void;
  dataset: string | undefined;
  place: RewardPlace;
  onPlace: OnPlace;
  refusal: string | null;
};

export const NO_EXAMPLE: Example = { item: '{"prompt": "68+52=", "answer": "120"}', completions: [""] };

/**
 * The dataset that the address names, else `likely`, else the newest; undefined for a row written by hand and for
 * completions of a job.
 */
export function useBenchDataset(place: RewardPlace, likely?: string): string | undefined {
  const datasets = useQuery(datasetsQuery).data?.data;
  if (place.dataset === BY_HAND || place.dataset === STORED) return undefined;
  const existing = (id: string | undefined) => datasets?.find((one) => one.id === id)?.id;
  return place.dataset ?? existing(likely) ?? datasets?.[0]?.id;
}

/** Tests the current source, saved or not, on rows and completions. */
export function Bench(props: Props) {
  const { reward, source, entry, granularity, bench, stored, run, onRun } = props;
  const { dataset, place, onPlace, refusal } = props;
  const choice = readChoice(place.rows);
  const test = useTestSource();
  const attack = useAttackSource();
  const [keeping, setKeeping] = useState<number | null>(null);
  const pane = useRef<HTMLDivElement>(null);
  const tested = flatten(bench.cases);
  const blocked =
    refusal ??
    bench.itemFault ??
    (tested.length === 0 ? "Write a completion first." : null) ??
    (tested.length > MOST_TESTED ? `A run scores at most ${MOST_TESTED} completions.` : null);

  const start = () => {
    if (blocked !== null || test.isPending) return;
    const body = { source, entry, granularity, rows: tested.map((one) => one.row) };
    test.mutate(body, { onSuccess: (answer) => onRun({ source, tested, answer }) });
  };
  const onAttack = () => {
    const rows = attackOn(bench.cases, bench.dataset?.suggested_columns?.answer);
    attack.mutate({ source, entry, granularity, ...rows });
  };
  useShortcuts("reward", { "mod+enter": start });
  useEffect(() => {
    if (run) pane.current?.scrollIntoView({ block: "nearest" });
  }, [run]);

  const now = tested.map((one) => `${one.case.key} ${one.completion}`).join("\n");
  const then = run?.tested.map((one) => `${one.case.key} ${one.completion}`).join("\n");
  return (
    <div className={styles.bench}>
      <RowPicker
        dataset={dataset}
        stored={stored}
        choice={choice}
        total={bench.dataset?.rows ?? 0}
        item={bench.item}
        itemFault={bench.itemFault}
        onDataset={(id) => onPlace({ dataset: id })}
        onRows={(rows) => onPlace({ rows })}
        onChoice={(next) => onPlace({ rows: writeChoice(next) })}
        onItem={bench.setItem}
      />
      {bench.error && <Failure title="Could not load rows" error={bench.error} />}
      <CaseList cases={bench.cases} change={bench.change} />
      {bench.loading && <div className={styles.loading} aria-busy="true" />}
      {!refusal && <SampleBar cases={bench.cases} change={bench.change} />}
      <div className={styles.run}>
        <GatedButton
          refusal={blocked}
          loading={test.isPending}
          onClick={start}
          aria-keyshortcuts="Meta+Enter Control+Enter"
        >
          Run on {count(tested.length, "completion")}
        </GatedButton>
        <GatedButton
          variant="default"
          refusal={refusal ?? bench.itemFault ?? (bench.cases.length === 0 ? "Choose rows first." : null)}
          loading={attack.isPending}
          title="Scores about 25 wrong completions for each row, such as the answer inside a longer number"
          onClick={onAttack}
        >
          Attack
        </GatedButton>
        <span>
          <kbd>⌘ Enter</kbd> or <kbd>Ctrl Enter</kbd>. Runs in the sandbox of a worker; results are not saved.
        </span>
      </div>
      {attack.error && <Failure title="Could not attack the reward" error={attack.error} retry={onAttack} />}
      {attack.data && (
        <Suspense fallback={null}>
          <Attack key={attack.submittedAt} report={attack.data} stale={attack.variables.source !== source} />
        </Suspense>
      )}
      {test.error && <Failure title="Could not run the reward" error={test.error} retry={start} />}
      <div ref={pane}>
        {run ? (
          <Results
            key={run.answer.results.length}
            run={run}
            stale={run.source !== source || now !== then}
            onKeep={reward && !refusal ? setKeeping : undefined}
          />
        ) : (
          !test.error &&
          !attack.data && (
            <Notice tone="info" title="No scores yet">
              Run the reward to see score, parts, reason and output for each completion. Test a right, a wrong
              and an empty one: their scores should differ.
            </Notice>
          )
        )}
      </div>
      {reward && run && keeping !== null && (
        <Suspense fallback={null}>
          <KeepFromBench reward={reward} run={run} at={keeping} onClose={() => setKeeping(null)} />
        </Suspense>
      )}
    </div>
  );
}
