import { memo, type RefObject, useEffect, useRef, useState } from "react";
import type { LogEntry } from "@/api/jobs";
import styles from "./Logs.module.css";
import { type Block, clock, pieces } from "./log-lines";

const LINE_PX = 20;
/** How far out of view lines are already drawn. */
const AHEAD = "800px 0px";

function Line({ line, query }: { line: LogEntry; query: string }) {
  return (
    <div className={styles.line} data-level={line.level}>
      <time dateTime={new Date(line.ts * 1000).toISOString()}>{clock(line.ts)}</time>
      <span>{line.level}</span>
      <div dir="auto">
        {pieces(line.message, query).map((piece, i) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: pieces of a fixed text have no other name
          i % 2 === 1 ? <mark key={i}>{piece}</mark> : piece,
        )}
      </div>
    </div>
  );
}

type Props = { block: Block; query: string; box: RefObject<HTMLElement | null> };

/** Some lines of the log, rendered near the view; elsewhere a box of their height. */
export const LogBlock = memo(function LogBlock({ block, query, box }: Props) {
  const own = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState(false);
  const [height, setHeight] = useState(block.lines.length * LINE_PX);

  useEffect(() => {
    const element = own.current;
    if (!element) return;
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1);
        if (!last) return;
        if (!last.isIntersecting) setHeight(element.offsetHeight);
        setNear(last.isIntersecting);
      },
      { root: box.current, rootMargin: AHEAD },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);

  return (
    <div ref={own} style={near ? undefined : { height }}>
      {block.first && <h2 className={styles.attempt}>Attempt {block.attempt}</h2>}
      {near && block.lines.map((line) => <Line key={line.seq} line={line} query={query} />)}
    </div>
  );
}, sameText);

/** Only the last block changes while a log grows. */
function sameText(a: Props, b: Props): boolean {
  return (
    a.query === b.query &&
    a.block.first === b.block.first &&
    a.block.lines.length === b.block.lines.length &&
    a.block.lines.at(-1)?.seq === b.block.lines.at(-1)?.seq
  );
}
