import { SegmentedControl, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import { type JobFilter, STATES, type StateFilter } from "@/api/job-list";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./JobList.module.css";

const WORDS: Record<StateFilter, string> = {
  unfinished: "Unfinished",
  succeeded: "Succeeded",
  failed: "Failed",
  paused: "Paused",
  cancelled: "Cancelled",
};

const CHOICES = [
  { value: "", label: "All" },
  ...STATES.map((state) => ({ value: state, label: WORDS[state] })),
];
const TYPING_PAUSE = 250;

type Props = { filter: JobFilter; onFilter: (filter: JobFilter) => void };

/** Narrows the list by state and by text; both stand in the address. */
export function JobFilters({ filter, onFilter }: Props) {
  const [text, setText] = useState(filter.q ?? "");
  const field = useRef<HTMLInputElement>(null);
  const later = useDebouncedCallback(
    (q: string) => onFilter({ ...filter, q: q.trim() || undefined }),
    TYPING_PAUSE,
  );
  useShortcuts("lists", { "/": () => field.current?.focus() });
  // Back and forward change the address without the field.
  useEffect(() => {
    if (document.activeElement !== field.current) setText(filter.q ?? "");
  }, [filter.q]);
  return (
    <search className={styles.filters}>
      <TextInput
        ref={field}
        className={styles.text}
        aria-label="Filter by name or ID"
        placeholder="Name or ID"
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          later(event.currentTarget.value);
        }}
      />
      <div className={styles.states}>
        <SegmentedControl
          aria-label="Status"
          size="sm"
          data={CHOICES}
          value={filter.state ?? ""}
          onChange={(state) => onFilter({ ...filter, state: STATES.find((one) => one === state) })}
        />
      </div>
    </search>
  );
}
