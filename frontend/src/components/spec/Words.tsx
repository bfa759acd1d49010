import { Fragment } from "react";

/** Text of the schema; text in backticks is code. */
export function Words({ text }: { text: string }) {
  return text.split("`").map((piece, i) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a fixed text have no other name
    i % 2 === 1 ? <code key={i}>{piece}</code> : <Fragment key={i}>{piece}</Fragment>,
  );
}

/** A path that breaks between its parts, never inside a word. */
export function Path({ path }: { path: string }) {
  return (
    <code>
      {path.split(/(?<=[._])/).map((piece, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a fixed text have no other name
        <Fragment key={i}>
          {piece}
          <wbr />
        </Fragment>
      ))}
    </code>
  );
}
