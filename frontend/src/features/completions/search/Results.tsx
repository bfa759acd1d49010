import { Button, NativeSelect } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useRef } from "react";
import type { CompletionHit, CompletionRow } from "@/api/completions";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { count, number } from "@/lib/format";
import { useShortcuts } from "@/lib/shortcuts";
import { Advantage } from "../group/Advantage";
import { statusWords } from "../group/RewardReason";
import { type Place, writePlace } from "../place";
import styles from "./Find.module.css";
import { type Find, NO_FIND, ORDERS, type Order } from "./find";
import { Highlighted } from "./Highlighted";
import { excerpt } from "./hits";
import { Chips } from "./SearchBar";
import type { Hits } from "./use-hits";

type Props = {
  job: string;
  place: Place;
  hits: Hits;
  words: readonly string[];
  onFind: (find: Find) => void;
  onEnd: () => void;
};

/** Where a result leads: its group with it open; the search stays in the address. */
export const placeOf = (place: Place, row: CompletionRow): Place => ({
  ...place,
  view: "group",
  split: row.split,
  step: row.step,
  prompt: row.prompt_no,
  sample: row.sample_no,
  only: "all",
});

const keyOf = (row: CompletionRow) => `${row.split} ${row.step} ${row.prompt_no} ${row.sample_no}`;

function Result({ job, place, row, words }: Pick<Props, "job" | "place" | "words"> & { row: CompletionHit }) {
  return (
    <Link
      from="/jobs/$id"
      to="/jobs/$id"
      params={{ id: job }}
      search={(old) => ({ ...old, ...writePlace(placeOf(place, row)) })}
      className={styles.result}
    >
      <span className={styles.facts}>
        <b>
          {row.split === "held_out" && "held-out, "}step {row.step}
        </b>
        <span>
          prompt {row.prompt_no + 1}, #{row.sample_no + 1}
        </span>
        {row.reward === null ? (
          <span className={styles.failed}>no reward: {statusWords(row.error ?? "error")}</span>
        ) : (
          <span>reward {number(row.reward)}</span>
        )}
        <Advantage value={row.advantage} />
        <span>{count(row.length, "token")}</span>
        {row.finish_reason === "length" && <span className={styles.truncated}>truncated</span>}
      </span>
      {row.prompt && (
        <span className={styles.prompt} title={row.prompt}>
          <span dir="auto">{row.prompt}</span>
          {row.answer && <b title={row.answer}>answer {row.answer}</b>}
        </span>
      )}
      <span className={styles.excerpt} dir="auto">
        <Highlighted text={excerpt(row.text, words)} words={words} />
      </span>
    </Link>
  );
}

/** What the search found over all steps, to read one by one. */
export function Results({ job, place, hits, words, onFind, onEnd }: Props) {
  const { query, rows, total, isNarrowed } = hits;
  const list = useRef<HTMLOListElement>(null);
  const move = (by: 1 | -1) => {
    const links = [...(list.current?.querySelectorAll("a") ?? [])];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    const next = at < 0 ? links[0] : links[at + by];
    next?.focus();
    if (by > 0 && at >= links.length - 3 && query.hasNextPage && !query.isFetching)
      void query.fetchNextPage();
  };
  useShortcuts("completions", { j: () => move(1), k: () => move(-1) });

  return (
    <section aria-label="Search results" className={styles.results}>
      <div className={styles.tools}>
        <p role="status">
          {total ?? "Searching…"}
          {total !== undefined &&
            !isNarrowed &&
            " in all steps. Enter words or add filters to narrow the results"}
        </p>
        <NativeSelect
          size="xs"
          aria-label="Sort results"
          value={place.find.order}
          onChange={(event) => onFind({ ...place.find, order: event.currentTarget.value as Order })}
          data={(Object.keys(ORDERS) as Order[]).map((value) => ({ value, label: ORDERS[value] }))}
        />
        <button type="button" className={styles.button} onClick={onEnd}>
          Close search
        </button>
      </div>
      <Chips find={place.find} onFind={onFind} />
      {query.isError && (
        <Failure title="Search failed" error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isSuccess && !query.isPlaceholderData && rows.length === 0 && (
        <Empty
          title="No matching completions"
          action={
            <Button variant="default" onClick={() => onFind(NO_FIND)}>
              Clear search
            </Button>
          }
        >
          Try fewer words or a wider range. The search covers completion texts of all steps.
        </Empty>
      )}
      <ol ref={list} aria-busy={query.isPending || query.isPlaceholderData}>
        {rows.map((row) => (
          <li key={keyOf(row)}>
            <Result job={job} place={place} row={row} words={words} />
          </li>
        ))}
        {query.isPending &&
          !query.isError &&
          [1, 2, 3, 4, 5, 6].map((n) => <li key={n} className={styles.waits} />)}
      </ol>
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          Load more
        </Button>
      )}
    </section>
  );
}
