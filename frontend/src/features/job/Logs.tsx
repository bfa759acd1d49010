import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { logsQuery } from "@/api/jobs";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import styles from "./Logs.module.css";

/** Lines kept on the page; the whole log is in the API. */
const MOST = 5000;
const NEAR_END_PX = 40;

const clock = (ts: number) => new Date(ts * 1000).toLocaleTimeString("en-GB");

/** The job's log, newest at the end; stays at the end while it grows unless the reader has scrolled up. */
export function Logs({ id }: { id: string }) {
  const logs = useQuery(logsQuery(id));
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const lines = logs.data?.slice(-MOST);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the new length is what moves the end
  useEffect(() => {
    const element = box.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [lines?.length]);

  if (logs.isError) {
    return (
      <Failure title="The log could not be loaded" error={logs.error} retry={() => void logs.refetch()} />
    );
  }
  if (lines?.length === 0) {
    return (
      <Empty title="Nothing logged yet">The trainer writes here what it loads, does and warns of.</Empty>
    );
  }
  const onScroll = () => {
    const element = box.current;
    if (element)
      atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX;
  };
  return (
    <section
      ref={box}
      className={styles.log}
      aria-label="Log"
      tabIndex={0}
      onScroll={onScroll}
      aria-busy={!lines}
    >
      {lines?.map((line) => (
        <div key={line.seq} className={styles.line} data-level={line.level}>
          <time dateTime={new Date(line.ts * 1000).toISOString()}>{clock(line.ts)}</time>
          <span>{line.level}</span>
          <div>{line.message}</div>
        </div>
      ))}
    </section>
  );
}
