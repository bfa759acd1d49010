import type { CompletionPlace } from "@/api/completions";
import { useShortcuts } from "@/lib/shortcuts";
import type { Go, Place } from "../place";
import styles from "./Find.module.css";
import { NO_FIND } from "./find";
import { placeOf } from "./Results";
import type { Hits } from "./use-hits";

type Props = { place: Place; here: CompletionPlace | undefined; hits: Hits; go: Go };

/** Above a group that a search led to: the way back, and to the next result. */
export function HitBar({ place, here, hits, go }: Props) {
  const { rows, query, total } = hits;
  const at = here ? hits.indexOf(here) : -1;
  const to = (by: 1 | -1) => {
    const row = rows[at + by];
    if (row) go(placeOf(place, row));
    if (by > 0 && at + 2 >= rows.length && query.hasNextPage && !query.isFetching) void query.fetchNextPage();
  };
  const [earlier, later] = [
    at > 0 ? () => to(-1) : undefined,
    at >= 0 && at + 1 < rows.length ? () => to(1) : undefined,
  ];
  useShortcuts("completions", at < 0 ? {} : { j: later, k: earlier });
  return (
    <nav className={styles.hitBar} aria-label="Search results">
      <button type="button" className={styles.button} onClick={() => go({ view: "results" }, true)}>
        ‹ Results
      </button>
      <p>
        {at >= 0 ? `Result ${at + 1} of ` : ""}
        {total ?? "…"}
      </p>
      {at >= 0 && (
        <>
          <button
            type="button"
            className={styles.button}
            title="Previous result (k)"
            disabled={!earlier}
            onClick={earlier}
          >
            Previous
          </button>
          <button
            type="button"
            className={styles.button}
            title="Next result (j)"
            disabled={!later}
            onClick={later}
          >
            Next
          </button>
        </>
      )}
      <button type="button" className={styles.button} onClick={() => go({ find: NO_FIND })}>
        Close search
      </button>
    </nav>
  );
}
