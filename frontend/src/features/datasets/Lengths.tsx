import type { UseQueryResult } from "@tanstack/react-query";
import type { TokenLengths } from "@/api/datasets";
import { Failure } from "@/components/Failure";
import { Histogram } from "@/components/Histogram";
import type { Bin } from "@/lib/distribution";
import { count, number } from "@/lib/format";
import { lengthsSentence } from "./lengths-sentence";
import styles from "./PromptsTab.module.css";

/** "14–17" in whole tokens; a bin's upper end is the first length that is not in it. */
const lengthName = ({ low, high }: Bin) =>
  high - low <= 1 ? number(low, 6) : `${number(low, 6)}–${number(high - 1, 6)}`;

type Props = { query: UseQueryResult<TokenLengths>; model: string; onRow: (row: number) => void };

/** The lengths of all prompts in the model's tokens. */
export function Lengths({ query, model, onRow }: Props) {
  const lengths = query.data;
  if (query.isError) {
    return (
      <Failure title="Could not measure the prompts" error={query.error} retry={() => void query.refetch()} />
    );
  }
  if (!lengths && !query.isFetching) return null;
  if (!lengths) return <div className={styles.lengths} data-empty aria-busy={query.isFetching} />;
  const most = lengths.context_length;
  const failed = lengths.failed ?? 0;
  return (
    <div className={styles.lengths} data-dim={query.isPlaceholderData || undefined}>
      <Histogram
        title="Prompt length"
        unit={`tokens of ${model}`}
        what="prompts"
        bins={lengths.bins.map((bin) => ({ low: bin.low, high: bin.high + 1, count: bin.count }))}
        name={lengthName}
        summary={lengthsSentence(lengths)}
        mark={most == null ? null : { value: most, label: `context length ${number(most, 6)}` }}
      />
      <p className={styles.below}>
        <button type="button" className={styles.link} onClick={() => onRow(lengths.longest_row)}>
          Show the longest: row {number(lengths.longest_row + 1, 6)}
        </button>
        {failed > 0 &&
          ` · ${count(failed, "row")} cannot be rendered. A job stops at such a row: fix or remove it`}
      </p>
    </div>
  );
}
