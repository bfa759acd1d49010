import type { UseQueryResult } from "@tanstack/react-query";
import type { RenderedPrompt, RenderedPrompts } from "@/api/datasets";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { Pages } from "@/components/Pages";
import { count, number } from "@/lib/format";
import { specialPieces } from "@/lib/prompt";
import styles from "./Rendered.module.css";

const MOST_CHARACTERS = 20_000;

/** Special tokens in their own colour and box, line breaks with a mark: both are read by the model. */
function PromptText({ text }: { text: string }) {
  const excerpt = text.slice(0, MOST_CHARACTERS);
  return (
    <pre className={styles.text} dir="auto" tabIndex={0}>
      {specialPieces(excerpt).map((piece, i) =>
        i % 2 === 1 ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text have no other name
          <span key={i} className={styles.special} title="Special token">
            {piece}
          </span>
        ) : (
          piece
        ),
      )}
      {text.length > MOST_CHARACTERS && `\n… ${count(text.length - MOST_CHARACTERS, "more character")}`}
    </pre>
  );
}

function Prompt({ one, most }: { one: RenderedPrompt; most: number | null }) {
  const long = most !== null && one.tokens != null && one.tokens > most;
  return (
    <li className={styles.prompt}>
      <div className={styles.head}>
        <b>Row {number(one.index + 1, 6)}</b>
        {one.tokens != null && (
          <span data-long={long || undefined}>
            {count(one.tokens, "token")}
            {long && `, more than the context length of ${number(most, 6)}`}
          </span>
        )}
        {one.answer != null && (
          <span className={styles.fact} title={one.answer}>
            answer <code>{one.answer.slice(0, 80)}</code>
          </span>
        )}
        {one.slice != null && (
          <span className={styles.fact} title={one.slice}>
            slice <code>{one.slice.slice(0, 80)}</code>
          </span>
        )}
      </div>
      {one.text != null && <PromptText text={one.text} />}
      {one.error != null && (
        <p className={styles.fault}>
          <b>Cannot be rendered.</b> {one.error}
        </p>
      )}
    </li>
  );
}

type Props = {
  query: UseQueryResult<RenderedPrompts>;
  size: number;
  offset: number;
  /** The form has a fault: what is shown is how it was before. */
  stale: boolean;
  onOffset: (offset: number) => void;
};

/** A few rows as the prompts that a model would read. */
export function Rendered({ query, size, offset, stale, onOffset }: Props) {
  const page = query.data;
  if (query.isError) {
    return (
      <Failure title="Could not render the prompts" error={query.error} retry={() => void query.refetch()} />
    );
  }
  if (!page && stale) {
    return (
      <Notice tone="info" title="No prompts yet">
        Choose a prompt source to see the first rows here.
      </Notice>
    );
  }
  return (
    <>
      <ul
        className={styles.list}
        data-dim={stale || query.isPlaceholderData || undefined}
        aria-busy={query.isFetching}
        style={{ "--rows": size } as React.CSSProperties}
      >
        {page?.data.map((one) => (
          <Prompt key={one.index} one={one} most={page.context_length ?? null} />
        ))}
      </ul>
      {page && <Pages what="row" offset={offset} size={size} total={page.total} onOffset={onOffset} />}
    </>
  );
}
