import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useLayoutEffect, useMemo, useRef, useState } from "react";
import { logsQuery } from "@/api/jobs";
import { CopyButton } from "@/components/CopyButton";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { SkeletonCard } from "@/components/Skeleton";
import { count } from "@/lib/format";
import { useRoomBelow } from "@/lib/use-room-below";
import { LogBlock } from "./LogBlock";
import styles from "./Logs.module.css";
import { asText, blocks, type Level, select } from "./log-lines";

/** Lines that are drawn, or stood in for while out of view, as one. */
const BLOCK = 100;
const NEAR_END_PX = 40;
const SETTLING_FRAMES = 8;
/** What the page has below the log. */
const BELOW_PX = 64;
const LEAST_PX = 240;

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
  const deferredQuery = useDeferredValue(query);
  const all = logs.data;
  const lines = useMemo(() => select(all ?? [], level, deferredQuery), [all, level, deferredQuery]);
  const parts = useMemo(() => blocks(lines, BLOCK), [lines]);
  const last = lines.at(-1)?.seq;

  const top = useRef(0);
  const room = useRoomBelow(box, BELOW_PX, LEAST_PX);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new last line is what moves the end
  useLayoutEffect(() => {
    if (!follow) return;
    // Blocks get their true height only when they are drawn, which moves the end once more.
    let frame = 0;
    const settle = (left: number) => {
      const element = box.current;
      if (element) element.scrollTop = element.scrollHeight;
      if (left > 0) frame = requestAnimationFrame(() => settle(left - 1));
    };
    settle(SETTLING_FRAMES);
    return () => cancelAnimationFrame(frame);
  }, [follow, last, parts.length]);

  if (logs.isError && !all) {
    return <Failure title="Could not load the log" error={logs.error} retry={() => void logs.refetch()} />;
  }
  if (!all) return <SkeletonCard height={560} label="Loading the log" />;
  if (all.length === 0) {
    return (
      <Empty title="No log lines yet" picture="rows">
        Messages and warnings of the trainer appear here when a worker starts the job.
      </Empty>
    );
  }
  const onScroll = () => {
    const element = box.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX;
    // Only a reader scrolls up; an end that moved away by itself is followed.
    if (atEnd) setFollow(true);
    else if (element.scrollTop < top.current - 1) setFollow(false);
    top.current = element.scrollTop;
  };
  return (
    <div className={styles.frame}>
      <div className={styles.bar}>
        <SegmentedControl
          aria-label="Log level"
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
          {lines.length === all.length
            ? count(all.length, "line")
            : `${count(lines.length, "line")} of ${count(all.length, "line")}`}
        </span>
        <Button variant="default" aria-pressed={follow} onClick={() => setFollow((old) => !old)} miw={120}>
          {follow ? "Stop following" : "Follow"}
        </Button>
        <CopyButton text={asText(lines)} />
        <Button variant="default" onClick={() => saveAs(`${id}.log`, asText(all))}>
          Download
        </Button>
      </div>
      <div className={styles.holder}>
        <section
          ref={box}
          className={styles.log}
          style={{ maxHeight: room }}
          aria-label="Log"
          tabIndex={0}
          onScroll={onScroll}
        >
          {parts.map((block) => (
            <LogBlock key={block.key} block={block} query={deferredQuery} box={box} />
          ))}
          {lines.length === 0 && <p className={styles.none}>No matching lines.</p>}
        </section>
        {!follow && (
          <Button className={styles.end} size="compact-sm" onClick={() => setFollow(true)}>
            Jump to end ↓
          </Button>
        )}
      </div>
    </div>
  );
}
