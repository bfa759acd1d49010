import type { ReactNode } from "react";
import { type Block, blocks, type Inline } from "@/lib/markdown";
import styles from "./Markdown.module.css";

function Word({ part }: { part: Inline }) {
  switch (part.type) {
    case "text":
      return part.text;
    case "code":
      return <code>{part.text}</code>;
    case "strong":
      return <strong>{words(part.parts)}</strong>;
    case "emphasis":
      return <em>{words(part.parts)}</em>;
    case "link":
      return (
        <a href={part.href} target="_blank" rel="noopener noreferrer nofollow">
          {words(part.parts)}
        </a>
      );
  }
}

const words = (parts: readonly Inline[]): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other name
  parts.map((part, n) => <Word key={n} part={part} />);

function Part({ block }: { block: Block }) {
  switch (block.type) {
    case "heading":
      return <h3 data-level={block.level}>{words(block.parts)}</h3>;
    case "paragraph":
      return <p>{words(block.parts)}</p>;
    case "quote":
      return <blockquote>{words(block.parts)}</blockquote>;
    case "code":
      return (
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case "list": {
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other name
      const items = block.items.map((item, n) => <li key={n}>{words(item)}</li>);
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
  }
}

/** Markdown as elements: no HTML of its own, no images. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className={styles.text}>
      {blocks(text).map((block, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text have no other name
        <Part key={n} block={block} />
      ))}
    </div>
  );
}
