import { useMemo } from "react";
import { visible } from "../text";
import { mark } from "./hits";

/** A stranger's text as text, with the words of the search marked. */
export function Highlighted({ text, words }: { text: string; words: readonly string[] }) {
  const pieces = useMemo(() => mark(visible(text), words), [text, words]);
  if (words.length === 0) return visible(text);
  // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a text have no other name
  return pieces.map((piece, i) => (piece.hit ? <mark key={i}>{piece.text}</mark> : piece.text));
}
