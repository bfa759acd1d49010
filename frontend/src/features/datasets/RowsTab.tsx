import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { columnsOf, type Dataset, datasetRowsQuery, splitQuery } from "@/api/datasets";
import { Failure } from "@/components/Failure";
import { Pages } from "@/components/Pages";
import styles from "./DatasetPage.module.css";
import type { DatasetPlace, OnPlace } from "./place";
import { RowPeek } from "./RowPeek";
import { RowsTable } from "./RowsTable";
import { SplitPanel } from "./SplitPanel";

const PAGE = 25;

type Props = { id: string; dataset: Dataset | undefined; place: DatasetPlace; onPlace: OnPlace };

/** The rows as they were uploaded, a page at a time, with what a job would hold out of them. */
export function RowsTab({ id, dataset, place, onPlace }: Props) {
  const offset = place.offset ?? 0;
  const rows = useQuery(datasetRowsQuery(id, offset, PAGE));
  const split = useQuery(splitQuery(id, place.seed ?? 0, place.held, place.by));
  const heldOut = useMemo(() => new Set(split.data?.held_out_rows), [split.data]);
  const page = rows.data;
  const peek = place.row !== undefined && page ? page.data[place.row - page.offset] : undefined;
  const total = page?.total ?? dataset?.rows ?? 0;
  // Pages of very large rows are shorter: the next one begins after the last row received.
  const size = page?.data.length || PAGE;

  const move = (row: number) => {
    if (row < 0 || row >= total) return;
    const onPage = row >= offset && row < offset + size;
    const start = size < PAGE ? row : Math.floor(row / PAGE) * PAGE;
    onPlace({ row, offset: (onPage ? offset : start) || undefined });
  };
  return (
    <>
      <SplitPanel query={split} rows={total} place={place} onPlace={onPlace} />
      {rows.isError && !page ? (
        <Failure title="Could not load rows" error={rows.error} retry={() => void rows.refetch()} />
      ) : (
        <RowsTable
          columns={columnsOf(dataset)}
          rows={page?.data}
          offset={page?.offset ?? offset}
          heldOut={heldOut}
          onOpen={(row) => onPlace({ row })}
        />
      )}
      {page && (
        <Pages
          what="row"
          offset={offset}
          size={size}
          total={total}
          onOffset={(at) => onPlace({ offset: at || undefined })}
        />
      )}
      <p className={styles.note}>Click a row to see its full content.</p>
      <RowPeek
        row={place.row}
        values={peek}
        heldOut={place.row !== undefined && heldOut.has(place.row)}
        total={total}
        onMove={move}
        onClose={() => onPlace({ row: undefined })}
      />
    </>
  );
}
