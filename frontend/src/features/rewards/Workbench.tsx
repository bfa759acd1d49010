import { lazy, type ReactNode, type RefObject, Suspense, useEffect, useState } from "react";
import { columnsOf } from "@/api/datasets";
import type { Granularity, RewardTemplate } from "@/api/rewards";
import type { CodeColumn } from "@/components/code/completion";
import { SkeletonCard } from "@/components/Skeleton";
import { UploadProblems } from "@/components/UploadProblems";
import { columnOfRole, itemColumns } from "@/lib/prompt";
import { useShortcuts } from "@/lib/shortcuts";
import { toastFailed } from "@/lib/toast";
import { Bench, NO_EXAMPLE, useBenchDataset } from "./bench/Bench";
import { readChoice } from "./bench/bench";
import type { BenchSession } from "./bench/session";
import { BY_HAND, STORED, useCases } from "./bench/use-cases";
import { useStored } from "./bench/use-stored";
import { EditorPane } from "./editor/EditorPane";
import { KindSwitch, useKind } from "./editor/KindSwitch";
import type { OnPlace, RewardPlace } from "./place";
import styles from "./Workbench.module.css";

const GraderPane = lazy(() => import("./grader/GraderPane"));

/** The server's limit of a source. */
const MOST_BYTES = 262_144;

export type WorkbenchDraft = { source: string; entry: string | null };

type Props = {
  /** The stored reward; a new one has none yet. */
  reward?: string;
  draft: WorkbenchDraft;
  onChange: (change: Partial<WorkbenchDraft>) => void;
  granularity: Granularity;
  place: RewardPlace;
  onPlace: OnPlace;
  refusal: string | null;
  /** Why it was not stored, when it was tried. */
  error: Error | null;
  onSave: () => void;
  /** The name of a file that was opened, without its ending. */
  onName?: (name: string) => void;
  /** A ready reward was taken. */
  onTemplate?: (template: RewardTemplate) => void;
  /** What the reward was last used on. */
  likelyDataset?: string;
  /** What was tried before, and where it is kept up to date. */
  session: RefObject<BenchSession>;
  /** Fields above the editor. */
  children?: ReactNode;
};

const typeOf = (value: unknown) => (Array.isArray(value) ? "list" : value === null ? "null" : typeof value);

/** The source at the left, what it says about rows and completions at the right. */
export function Workbench(props: Props) {
  const { draft, onChange, granularity, place, onPlace, refusal, error, onSave } = props;
  const { onName, onTemplate, likelyDataset, session, children } = props;
  const dataset = useBenchDataset(place, likelyDataset);
  const [run, setRun] = useState(session.current.run);
  const written = useCases(dataset, readChoice(place.rows), NO_EXAMPLE, session.current);
  const { completions, item } = written;
  useEffect(() => {
    session.current = { completions, item, run };
  }, [session, completions, item, run]);
  const stored = useStored(place.dataset === STORED, place.rows);
  const { cases, change, error: storedError, loading } = stored;
  const bench = stored.on
    ? { ...written, cases, change, error: storedError, loading, itemFault: null }
    : written;
  useShortcuts("reward", { "mod+s": onSave });

  const view = bench.dataset?.prompt_view ?? {};
  const byHand = Object.entries(bench.cases[0]?.item ?? {});
  const columns: CodeColumn[] =
    dataset === undefined
      ? byHand.map(([name, value]) => ({ name, type: typeOf(value) }))
      : itemColumns(columnsOf(bench.dataset), view);

  const names = columns.map((column) => column.name);
  const answer = columnOfRole("answer", view, names) ?? undefined;
  const suggested = bench.dataset?.suggested_columns?.answer ?? undefined;
  const { kind, turn } = useKind(draft, onChange, answer ?? suggested, props.reward === undefined);
  const kinds = <KindSwitch kind={kind} onKind={turn} readOnly={refusal !== null} />;

  const open = async (file: File) => {
    if (file.size > MOST_BYTES) {
      const hint = "The source of a reward is limited to 256 kB. Put data into columns of the dataset.";
      toastFailed(
        `${file.name} could not be opened`,
        Object.assign(new Error("The file is too large."), { hint }),
      );
      return;
    }
    onChange({ source: await file.text(), entry: null });
    onName?.(file.name.replace(/\.(py|json)$/, ""));
  };
  const take = (template: RewardTemplate) => {
    onChange({ source: template.source, entry: null });
    onTemplate?.(template);
    if (dataset !== undefined && (template.columns ?? []).every((name) => names.includes(name))) return;
    bench.show({
      item: JSON.stringify(template.example_item ?? {}, null, 2),
      completions: template.example_completions ?? [""],
    });
    onPlace({ dataset: BY_HAND });
  };
  return (
    <>
      {error && <UploadProblems title="Could not save" error={error} />}
      {children}
      <div
        className={styles.bench}
        data-wide={(kind === "grader" && place.grader === undefined) || undefined}
      >
        {kind === "grader" ? (
          <Suspense fallback={<SkeletonCard height={320} label="Loading the form" />}>
            <GraderPane
              kinds={kinds}
              source={draft.source}
              columns={columns}
              answer={answer}
              view={place.grader}
              readOnly={refusal !== null}
              onSource={(source) => onChange({ source })}
              onView={(view) => onPlace({ grader: view })}
              onFile={(file) => void open(file)}
            />
          </Suspense>
        ) : (
          <EditorPane
            kinds={kinds}
            source={draft.source}
            entry={draft.entry}
            columns={columns}
            answer={answer}
            readOnly={refusal !== null}
            onSource={(source) => onChange({ source })}
            onEntry={(entry) => onChange({ entry })}
            onTemplate={take}
            onFile={(file) => void open(file)}
          />
        )}
        <section className={styles.side} aria-label="Test">
          <Bench
            reward={props.reward}
            source={draft.source}
            entry={draft.entry}
            granularity={granularity}
            bench={bench}
            stored={stored}
            run={run}
            onRun={setRun}
            dataset={dataset}
            place={place}
            onPlace={onPlace}
            refusal={refusal}
          />
        </section>
      </div>
    </>
  );
}
