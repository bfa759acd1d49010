import { Checkbox, NumberInput, Slider } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { SplitView } from "@/api/datasets";
import { count, number, percent } from "@/lib/format";
import type { DatasetPlace, OnPlace } from "./place";
import { rowRanges } from "./prompt-draft";
import styles from "./SplitPanel.module.css";

type Props = { query: UseQueryResult<SplitView>; rows: number; place: DatasetPlace; onPlace: OnPlace };

/** What a job holds out for evaluation: how many rows, which seed, which rows. */
export function SplitPanel({ query, rows, place, onPlace }: Props) {
  const split = query.data;
  const [typed, setTyped] = useState<number | undefined>(place.held);
  const keep = useDebouncedCallback((held: number) => onPlace({ held }), 250);
  const most = Math.max(0, Math.min(rows - 1, 100_000));
  const held = typed ?? split?.held_out ?? 0;
  const choose = (value: number | string) => {
    if (value === "" || !Number.isFinite(Number(value))) return;
    const next = Math.min(most, Math.max(0, Math.round(Number(value))));
    setTyped(next);
    keep(next);
  };
  const share = rows > 0 ? held / rows : 0;
  return (
    <section className={styles.panel} aria-label="Held-out split">
      <div className={styles.words}>
        <h2>Held-out split</h2>
        <p>
          Rows used for evaluation only, never for training. The same number and seed select the same rows in
          every job.
        </p>
      </div>
      <div className={styles.fields}>
        <NumberInput
          label="Held-out rows"
          value={held}
          min={0}
          max={most}
          onChange={choose}
          w={124}
          hideControls={false}
        />
        <NumberInput
          label="Seed"
          value={place.seed ?? 0}
          min={0}
          max={2 ** 31 - 1}
          allowDecimal={false}
          onChange={(value) => typeof value === "number" && onPlace({ seed: value || undefined })}
          w={124}
        />
      </div>
      <div className={styles.result}>
        <Slider
          value={held}
          max={Math.max(1, Math.min(most, Math.ceil(rows / 2)))}
          onChange={choose}
          label={(value) => count(value, "row")}
          thumbLabel="Held-out rows"
          disabled={rows < 2}
        />
        <p role="status" className={styles.counts}>
          {query.isError ? (
            `${query.error.message} The split is shown when the server is reachable.`
          ) : (
            <>
              <b>{number(split?.train ?? rows - held, 6)}</b> train ·{" "}
              <b>{number(place.by ? (split?.held_out ?? held) : held, 6)}</b> held out ({percent(share)}){" "}
              {split?.note}
            </>
          )}
        </p>
      </div>
      <div className={styles.together}>
        <Checkbox
          label="Keep duplicate prompts in one split"
          checked={place.by === "prompt"}
          disabled={rows < 2}
          onChange={(event) => onPlace({ by: event.currentTarget.checked ? "prompt" : undefined })}
        />
        <Link from="/datasets/$id" to="/datasets/$id" search={(old) => ({ ...old, tab: "report" as const })}>
          Check for leakage
        </Link>
      </div>
      {split && split.held_out_rows.length > 0 && (
        <details className={styles.which}>
          <summary>Rows</summary>
          <p>
            {rowRanges(split.held_out_rows, 120)}
            {split.held_out > split.held_out_rows.length && ", …"}
          </p>
        </details>
      )}
    </section>
  );
}
