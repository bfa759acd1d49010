import { Drawer } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { datasetRowsQuery } from "@/api/datasets";
import { type EvaluatedCompletion, rowQuery } from "@/api/evaluations";
import { Failure } from "@/components/Failure";
import { Skeleton } from "@/components/Skeleton";
import { count, number } from "@/lib/format";
import { valueText } from "@/lib/prompt";
import styles from "./Evaluations.module.css";

function CompletionReason({ one }: { one: EvaluatedCompletion }) {
  const { result } = one;
  const scored = result.status === "ok";
  return (
    <article className={styles.completion} aria-label={`Completion ${one.sample + 1}`}>
      <header>
        <b>{scored ? number(result.value) : result.status.replaceAll("_", " ")}</b>
        <span>
          {[count(one.tokens, "token"), one.finish_reason === "length" ? "truncated" : ""]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </header>
      <pre dir="auto" tabIndex={0}>
        {one.text || "(empty)"}
      </pre>
      {(result.reason ?? result.message) && <p>{result.reason ?? result.message}</p>}
    </article>
  );
}

function Side({ id, row, title }: { id: string; row: number; title: string }) {
  const query = useQuery(rowQuery(id, row));
  return (
    <section aria-label={title} className={styles.side} aria-busy={query.isPending}>
      <h3>{title}</h3>
      {query.isError && (
        <Failure title="Could not load completions" error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && <Skeleton height={90} />}
      {query.data?.data.length === 0 && <p className={styles.rest}>The evaluation has no such row.</p>}
      {query.data?.data.map((one) => (
        <CompletionReason key={one.sample} one={one} />
      ))}
    </section>
  );
}

type Props = {
  row: number;
  dataset: string | null | undefined;
  /** Evaluations whose completions are shown, with what they are called. */
  sides: readonly { id: string; title: string }[];
  onClose: () => void;
};

/** One row: prompt, completions and their rewards. */
export function RowPeek({ row, dataset, sides, onClose }: Props) {
  const datasetRow = useQuery({ ...datasetRowsQuery(dataset ?? "", row, 1), enabled: Boolean(dataset) });
  const values = datasetRow.data?.data[0];
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size={sides.length > 1 ? "min(960px, 100vw)" : "min(640px, 100vw)"}
      title={`Row ${number(row + 1, 9)}`}
      closeButtonProps={{ "aria-label": "Close" }}
      overlayProps={{ backgroundOpacity: 0.15 }}
      transitionProps={{ duration: 120 }}
    >
      <dl className={styles.item}>
        {Object.entries((values ?? {}) as Record<string, unknown>).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd dir="auto">{valueText(value).slice(0, 2000)}</dd>
          </div>
        ))}
      </dl>
      <div className={styles.sides} data-two={sides.length > 1 || undefined}>
        {sides.map(({ id, title }) => (
          <Side key={id} id={id} row={row} title={title} />
        ))}
      </div>
    </Drawer>
  );
}
