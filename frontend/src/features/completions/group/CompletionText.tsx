import { useState } from "react";
import { count } from "@/lib/format";
import { Highlighted } from "../search/Highlighted";
import { head, parts, thinks } from "../text";
import styles from "./Card.module.css";

type Props = {
  text: string;
  /** Words of the search. */
  words: readonly string[];
  fold: boolean;
  /** The card is open: as much height as it needs, up to most of the window. */
  open: boolean;
};

/** Characters shown at once; the rest on request. */
const SHORT = 4000;
/** From here on a text may need scrolling in its card. */
const SCROLLS = 300;

/** The text of a completion, uninterpreted. */
export function CompletionText({ text, words, fold, open }: Props) {
  const [all, setAll] = useState(false);
  const excerpt = all || text.length <= SHORT ? text : head(text, SHORT);
  const scrolls = excerpt.length > SCROLLS || excerpt.split("\n").length > 8;
  const more = text.length > SHORT && (
    <button type="button" className={styles.all} aria-expanded={all} onClick={() => setAll(!all)}>
      {all ? "show less" : `show all (${count(text.length, "character")})`}
    </button>
  );
  return (
    <div className={styles.body} data-open={open} tabIndex={scrolls ? 0 : undefined}>
      {text === "" && <p className={styles.nothing}>empty completion</p>}
      {fold && thinks(excerpt) ? (
        parts(excerpt).map((part, i) =>
          part.kind === "think" ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other name
            <details key={i} className={styles.think}>
              <summary>thinking, {count([...part.text].length, "character")}</summary>
              <pre dir="auto">
                <Highlighted text={part.text} words={words} />
              </pre>
            </details>
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other name
            <pre key={i} dir="auto">
              <Highlighted text={part.text} words={words} />
            </pre>
          ),
        )
      ) : (
        <pre dir="auto">
          <Highlighted text={excerpt} words={words} />
          {!all && text.length > SHORT && "… "}
        </pre>
      )}
      {more}
    </div>
  );
}
