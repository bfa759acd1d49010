import { useQuery } from "@tanstack/react-query";
import { type CompletionRow, completionQuery } from "@/api/completions";
import { Failure } from "@/components/Failure";
import { number } from "@/lib/format";
import { Advantage } from "../group/Advantage";
import { visible } from "../text";
import styles from "./Across.module.css";
import { type Change, compare, tell } from "./diff";

type Props = { job: string; before: CompletionRow; after: CompletionRow };

const name = (row: CompletionRow) => `${row.split} ${row.step} ${row.prompt_no} ${row.sample_no}`;

function Side({ word, row }: { word: string; row: CompletionRow }) {
  return (
    <p className={styles.side}>
      <b>
        {word} step {row.step}
      </b>{" "}
      #{row.sample_no + 1}, reward {number(row.reward)} <Advantage value={row.advantage} />
    </p>
  );
}

/** Deletions struck through, insertions underlined; both are said in words for those who listen. */
function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <pre className={styles.diff} dir="auto" tabIndex={0}>
      {changes.map((change, i) => {
        const text = visible(change.text);
        if (change.kind === "same") return text;
        const Tag = change.kind === "removed" ? "del" : "ins";
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: changes have no other name
          <Tag key={i}>
            <span className="visually-hidden">{change.kind}: </span>
            {text}
            <span className="visually-hidden"> end </span>
          </Tag>
        );
      })}
    </pre>
  );
}

/** What changed between two completions of the same prompt, word by word. */
export function DiffView({ job, before, after }: Props) {
  const first = useQuery(completionQuery(job, before));
  const second = useQuery(completionQuery(job, after));
  const texts = first.data && second.data && ([first.data.text, second.data.text] as const);
  const diff = useQuery({
    queryKey: ["word-diff", job, name(before), name(after)],
    queryFn: () => compare(...(texts as readonly [string, string])),
    enabled: texts !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const failed = [first, second, diff].find((query) => query.isError);
  return (
    <section className={styles.compare} aria-label="Comparison of two steps" aria-busy={diff.isPending}>
      <header>
        <Side word="From" row={before} />
        <Side word="to" row={after} />
      </header>
      {failed?.error && (
        <Failure
          title="Could not compare the completions"
          error={failed.error}
          retry={() => void failed.refetch()}
        />
      )}
      {diff.data && (
        <>
          <p className={styles.tell}>
            {tell(diff.data)} <del>struck</del> removed, <ins>underlined</ins> added.
          </p>
          <Changes changes={diff.data} />
        </>
      )}
      {diff.data === null && texts && (
        <>
          <p className={styles.tell}>The texts differ too much for a word diff. Both are shown in full.</p>
          {texts.map((text, i) => (
            <pre key={i === 0 ? "before" : "after"} className={styles.diff} dir="auto" tabIndex={0}>
              {visible(text)}
            </pre>
          ))}
        </>
      )}
      {!diff.isFetched && !failed && <div className={styles.waits} />}
    </section>
  );
}
