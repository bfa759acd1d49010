import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { memo, useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type LogEntry, logsQuery } from "@/api/jobs";
import { CopyButton } from "@/components/CopyButton";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { SkeletonCard } from "@/components/Skeleton";
import { count } from "@/lib/format";
import styles from "./Logs.module.css";
import { asText, type Block, blocks, clock, type Level, pieces, select } from "./log-lines";

/** Lines that are laid out, or skipped while out of view, as one. */
const BLOCK = 100;
const LINE_PX = 20;
const NEAR_END_PX = 40;

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

/** Only the last block changes while a log grows. */
const Lines = memo(
  function Lines({ block, query }: { block: Block; query: string }) {
    return (
      <div
        className={styles.block}
        style={{ containIntrinsicHeight: `auto ${block.lines.length * LINE_PX}px` }}
      >
        {block.first && <h2 className={styles.attempt}>Attempt {block.attempt}</h2>}
        {block.lines.map((line) => (
          <Line key={line.seq} line={line} query={query} />
        ))}
      </div>
    );
  },
  (a, b) =>
    a.query === b.query &&
    a.block.first === b.block.first &&
    a.block.lines.length === b.block.lines.length &&
    a.block.lines.at(-1)?.seq === b.block.lines.at(-1)?.seq,
);

function saveAs(name: string, text: string) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** The job's log, newest at the end; follows it while the reader has not scrolled up. */
export function Logs({ id }: { id: string }) {
  const logs = useQuery(logsQuery(id));
  const [level, setLevel] = useState<Level>("all");
  const [query, setQuery] = useState("");
  const [follow, setFollow] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const wanted = useDeferredValue(query);
  const all = logs.data;
  const shown = useMemo(() => select(all ?? [], level, wanted), [all, level, wanted]);
  const parts = useMemo(() => blocks(shown, BLOCK), [shown]);
  const last = shown.at(-1)?.seq;

  const toEnd = () => {
    const element = box.current;
    if (element) element.scrollTop = element.scrollHeight;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new last line is what moves the end
  useLayoutEffect(() => {
    if (!follow) return;
    toEnd();
    // Blocks that come into view get their true height only then: once more after they have.
    const frame = requestAnimationFrame(toEnd);
    return () => cancelAnimationFrame(frame);
  }, [follow, last]);

  if (logs.isError && !all) {
    return (
      <Failure title="The log could not be loaded" error={logs.error} retry={() => void logs.refetch()} />
    );
  }
  if (!all) return <SkeletonCard height={560} label="Loading the log" />;
  if (all.length === 0) {
    return (
      <Empty title="Nothing logged yet" picture="rows">
        The trainer writes here what it loads, does and warns of. The first lines come when a worker starts
        the job.
      </Empty>
    );
  }
  const onScroll = () => {
    const element = box.current;
    if (element) setFollow(element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX);
  };
  return (
    <div className={styles.frame}>
      <div className={styles.bar}>
        <SegmentedControl
          aria-label="Which lines"
          value={level}
          onChange={(next) => setLevel(next as Level)}
          data={[
            { value: "all", label: "All" },
            { value: "warnings", label: "Warnings" },
            { value: "errors", label: "Errors" },
          ]}
        />
        <TextInput
          type="search"
          aria-label="Search the log"
          placeholder="Search"
          value={query}
          onChange={(event) => setQuery(event.currentTarget.value)}
        />
        <span role="status" className={styles.count}>
          {shown.length === all.length
            ? count(all.length, "line")
            : `${count(shown.length, "line")} of ${count(all.length, "line")}`}
        </span>
        <Button variant="default" aria-pressed={follow} onClick={() => setFollow((old) => !old)} miw={120}>
          {follow ? "Stop following" : "Follow"}
        </Button>
        <CopyButton text={asText(shown)} />
        <Button variant="default" onClick={() => saveAs(`${id}.log`, asText(all))}>
          Download
        </Button>
      </div>
      <div className={styles.holder}>
        <section ref={box} className={styles.log} aria-label="Log" tabIndex={0} onScroll={onScroll}>
          {parts.map((block) => (
            <Lines key={block.key} block={block} query={wanted} />
          ))}
          {shown.length === 0 && <p className={styles.none}>No line matches.</p>}
        </section>
        {!follow && (
          <Button className={styles.end} size="compact-sm" onClick={() => setFollow(true)}>
            Jump to the end ↓
          </Button>
        )}
      </div>
    </div>
  );
}
