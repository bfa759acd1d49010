import { NativeSelect, SegmentedControl, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useRef, useState } from "react";
import type { PromptSort } from "@/api/job-prompts";
import { number } from "@/lib/format";
import { useShortcuts } from "@/lib/shortcuts";
import styles from "./Prompts.module.css";
import { CATEGORIES, type PromptsPlace, SORTS } from "./place";

type Props = {
  place: PromptsPlace;
  onPlace: (place: PromptsPlace) => void;
  /** Undefined while they load. */
  counts: { prompts: number; categories: Readonly<Record<string, number>> } | undefined;
};

const TYPING_PAUSE = 250;
const names = Object.keys(CATEGORIES) as (keyof typeof CATEGORIES)[];
const counted = (label: string, count: number | undefined) =>
  count === undefined ? label : `${label} ${number(count, 6)}`;

/** Narrows the list by split, category and text, and orders it; all of it stands in the address. */
export function PromptFilters({ place, onPlace, counts }: Props) {
  const [text, setText] = useState(place.text);
  const field = useRef<HTMLInputElement>(null);
  const later = useDebouncedCallback(
    (typed: string) => onPlace({ ...place, text: typed.trim() }),
    TYPING_PAUSE,
  );
  useShortcuts("lists", { "/": () => field.current?.focus() });
  // Back and forward change the address without the field.
  useEffect(() => {
    if (document.activeElement !== field.current) setText(place.text);
  }, [place.text]);
  return (
    <search className={styles.filters}>
      <div className={styles.categories}>
        <SegmentedControl
          size="xs"
          aria-label="Category"
          value={place.category ?? ""}
          onChange={(value) => {
            const category = names.find((name) => name === value);
            const usual = place.sort === "-variance" ? "row" : place.sort;
            onPlace({ ...place, category, sort: category === "most_variable" ? "-variance" : usual });
          }}
          data={[
            { value: "", label: counted("All", counts?.prompts) },
            ...names.map((name) => ({
              value: name,
              label: counted(CATEGORIES[name].label, counts && (counts.categories[name] ?? 0)),
            })),
          ]}
        />
      </div>
      <SegmentedControl
        size="xs"
        aria-label="Split"
        value={place.split}
        onChange={(value) => onPlace({ ...place, split: value === "held_out" ? value : "train" })}
        data={[
          { value: "train", label: "Training" },
          { value: "held_out", label: "Held-out" },
        ]}
      />
      <TextInput
        ref={field}
        size="xs"
        type="search"
        className={styles.text}
        aria-label="Filter by text of the prompt"
        placeholder="Text of the prompt"
        maxLength={500}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          later(event.currentTarget.value);
        }}
      />
      <NativeSelect
        size="xs"
        aria-label="Sort prompts"
        value={place.sort}
        onChange={(event) => onPlace({ ...place, sort: event.currentTarget.value as PromptSort })}
        data={Object.entries(SORTS).map(([value, label]) => ({ value, label }))}
      />
    </search>
  );
}
