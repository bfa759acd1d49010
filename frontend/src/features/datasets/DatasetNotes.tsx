import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Dataset, useUpdateDataset } from "@/api/datasets";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { count } from "@/lib/format";
import { suggestionOf, withSuggestion } from "@/lib/suggestion";
import { toastDone } from "@/lib/toast";
import styles from "./DatasetPage.module.css";
import { rowRanges } from "./prompt-draft";

// A dataset's warnings are sentences without codes, saved when it was uploaded: older ones begin with "No".
const asksForPrompt = (warning: string) => /no "messages" or "prompt" column/i.test(warning);

/** Remaining notes: a missing prompt column does not matter once one is selected. */
function openWarnings(dataset: Dataset): string[] {
  const view = dataset.prompt_view;
  const settled = view?.prompt_template || view?.columns?.prompt || view?.columns?.messages;
  return (dataset.warnings ?? []).filter((warning) => !settled || !asksForPrompt(warning));
}

type SuggestionProps = {
  dataset: Dataset;
  refusal: string | null;
  onApplied: () => void;
};

function Suggestion({ dataset, refusal, onApplied }: SuggestionProps) {
  const update = useUpdateDataset(dataset.id);
  const parts = suggestionOf(dataset);
  if (parts.length === 0) return null;
  const apply = () =>
    update.mutate(
      { etag: dataset.etag, prompt_view: withSuggestion(dataset) },
      {
        onSuccess: () => {
          toastDone("Saved. New jobs on this dataset use these columns.");
          onApplied();
        },
      },
    );
  return (
    <Notice
      tone="info"
      title="Suggested columns"
      action={
        <GatedButton refusal={refusal} size="compact-sm" loading={update.isPending} onClick={apply}>
          Use these columns
        </GatedButton>
      }
      more={update.error && <Failure title="Could not save" error={update.error} />}
    >
      {parts.map(([role, column], i) => (
        <span key={role}>
          {i > 0 && ", "}
          <b>{column}</b> as {role}
        </span>
      ))}
    </Notice>
  );
}

type SkippedProps = { skipped: NonNullable<Dataset["skipped"]>; format: Dataset["format"] };

function Skipped({ skipped, format }: SkippedProps) {
  const place = format === "parquet" ? "row" : "line";
  const lines = skipped.lines.map((line) => line - 1);
  return (
    <Notice
      tone="info"
      title={`${count(skipped.rows, "bad row")} skipped`}
      more={
        <details>
          <summary>Faults</summary>
          <ul className={styles.warnings}>
            {skipped.faults.map((fault) => (
              <li key={`${fault.line} ${fault.column}`}>
                {place} {fault.line}
                {fault.column != null && `, column ${fault.column}`}: {fault.message}
              </li>
            ))}
          </ul>
        </details>
      }
    >
      The dataset does not contain {skipped.rows === 1 ? place : `${place}s`} {rowRanges(lines)} of the
      uploaded file.
    </Notice>
  );
}

type Props = {
  dataset: Dataset;
  refusal: string | null;
  /** Link to the tab Prompts; null on it. */
  toPrompts: ReactNode;
  onApplied: () => void;
};

/** What to know about a dataset before using it. */
export function DatasetNotes({ dataset, refusal, toPrompts, onApplied }: Props) {
  const warnings = openWarnings(dataset);
  return (
    <>
      {dataset.newest && (
        <Notice
          tone="info"
          title="Newer version available"
          action={
            <Link to="/datasets/$id" params={{ id: dataset.newest }}>
              Open the newest version
            </Link>
          }
        >
          A newer dataset has the same name. Jobs that use this version keep using it.
        </Notice>
      )}
      {dataset.skipped && <Skipped skipped={dataset.skipped} format={dataset.format} />}
      {warnings.length > 0 && (
        <Notice tone="warn" title="Note" action={warnings.some(asksForPrompt) && toPrompts}>
          <ul className={styles.warnings}>
            {warnings.map((warning) => (
              <li key={warning}>{warning}</li>
            ))}
          </ul>
        </Notice>
      )}
      <Suggestion dataset={dataset} refusal={refusal} onApplied={onApplied} />
    </>
  );
}
