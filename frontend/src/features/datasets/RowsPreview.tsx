import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { datasetRowsQuery } from "@/api/datasets";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { count } from "@/lib/format";
import styles from "./DatasetPage.module.css";

const PAGE = 25;
const MOST_CHARACTERS = 300;

type Row = { number: number; values: Record<string, unknown> };

/** Chat messages read as "user: …"; everything else as it stands. */
function words(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value) && value.every((item) => item && typeof item === "object" && "role" in item)) {
    return value.map(({ role, content }) => `${role}: ${words(content)}`).join("  ");
  }
  return value === undefined ? "" : JSON.stringify(value);
}

function cell(value: unknown) {
  const text = words(value);
  return (
    <code className={styles.cell} title={text.slice(0, 2000)} dir="auto">
      {text.slice(0, MOST_CHARACTERS)}
    </code>
  );
}

/** The rows as they were uploaded, a page at a time. */
export function RowsPreview({
  id,
  offset,
  onOffset,
}: {
  id: string;
  offset: number;
  onOffset: (at: number) => void;
}) {
  const rows = useQuery(datasetRowsQuery(id, offset, PAGE));
  if (rows.isError && !rows.data) {
    return <Failure title="Rows could not be loaded" error={rows.error} retry={() => void rows.refetch()} />;
  }
  const page = rows.data;
  const names = [...new Set(page?.data.flatMap((row) => Object.keys(row)))];
  const columns: Column<Row>[] = [
    { head: "Row", align: "right", cell: (row) => row.number },
    ...names.map((name, i) => ({
      head: name,
      cell: (row: Row) => cell(row.values[name]),
      last: i === names.length - 1,
    })),
  ];
  const data = page?.data.map((values, i) => ({ number: page.offset + i + 1, values }));
  const last = page ? Math.min(page.offset + PAGE, page.total) : 0;
  return (
    <>
      <h2>Rows</h2>
      <DataTable label="Rows" columns={columns} rows={data} rowKey={(row) => row.number} />
      {page && page.total > PAGE && (
        <div className={styles.pages}>
          <Button
            variant="default"
            size="compact-sm"
            disabled={offset === 0}
            onClick={() => onOffset(Math.max(0, offset - PAGE))}
          >
            Back
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            disabled={last >= page.total}
            onClick={() => onOffset(offset + PAGE)}
          >
            Next
          </Button>
          <span>
            {page.offset + 1}–{last} of {count(page.total, "row")}
          </span>
        </div>
      )}
    </>
  );
}
