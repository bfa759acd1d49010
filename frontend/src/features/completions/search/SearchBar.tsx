import { Popover, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { type Ref, useEffect, useState } from "react";
import { Filters } from "./Filters";
import styles from "./Find.module.css";
import { chips, type Find, NO_FIND } from "./find";

type Props = {
  job: string;
  find: Find;
  onFind: (find: Find) => void;
  /** Leaves the search. */
  onEnd: () => void;
  field: Ref<HTMLInputElement>;
};

const TYPING_MS = 300;

/** Words to look for in all steps, and what narrows the search. */
export function SearchBar({ job, find, onFind, onEnd, field }: Props) {
  const [typed, setTyped] = useState(find.q);
  useEffect(() => setTyped(find.q), [find.q]);
  const search = useDebouncedCallback((q: string) => onFind({ ...find, q }), TYPING_MS);
  const narrowed = chips(find).filter(({ key }) => key !== "q").length;
  return (
    <search className={styles.bar}>
      <TextInput
        ref={field}
        size="xs"
        type="search"
        className={styles.field}
        aria-label="Search completions of all steps"
        placeholder="Search all steps"
        title={'Words, "exact words", -without (/)'}
        maxLength={500}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          search(event.currentTarget.value);
        }}
        onKeyDown={(event) => {
          const ends = event.key === "Escape" && typed === "";
          if (event.key === "Enter" || ends) search.cancel();
          if (event.key === "Enter") onFind({ ...find, q: typed });
          if (ends) onEnd();
        }}
      />
      <Popover position="bottom-end" shadow="sm" trapFocus returnFocus withinPortal>
        <Popover.Target>
          <button type="button" className={styles.button} data-filters="true">
            Filters{narrowed > 0 && ` (${narrowed})`}
          </button>
        </Popover.Target>
        <Popover.Dropdown>
          <Filters job={job} find={find} onFind={onFind} />
        </Popover.Dropdown>
      </Popover>
    </search>
  );
}

/** What narrows the search; each can be taken away. */
export function Chips({ find, onFind }: Pick<Props, "find" | "onFind">) {
  const all = chips(find);
  if (all.length === 0) return null;
  return (
    <ul className={styles.chips} aria-label="Active filters">
      {all.map(({ key, words }) => (
        <li key={key}>
          <button type="button" onClick={() => onFind({ ...find, [key]: NO_FIND[key] })}>
            <bdi>{words}</bdi>
            <span aria-hidden="true"> ×</span>
            <span className="visually-hidden">, remove</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
