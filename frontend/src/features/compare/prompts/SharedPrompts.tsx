import { Button, NativeSelect, SegmentedControl, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { type ComparedSort, comparedPromptsQuery, type JobComparison } from "@/api/compare";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { SkeletonCard } from "@/components/Skeleton";
import { count } from "@/lib/format";
import { type ComparePlace, type Go, PROMPT_SORTS } from "../place";
import { JobCompletions } from "./JobCompletions";
import { PromptPicker } from "./PromptPicker";
import styles from "./SharedPrompts.module.css";

const SORTS: Record<ComparedSort, string> = {
  "-difference": "Largest difference first",
  difference: "Smallest difference first",
  "-reward": "Highest reward first",
  reward: "Lowest reward first",
};
const TYPING_PAUSE = 250;

type Props = { comparison: JobComparison; place: ComparePlace; onPlace: Go };

/** Prompts that the jobs share, and the completions of all jobs for one of them. */
export function SharedPrompts({ comparison, place, onPlace }: Props) {
  const { split = "held_out", prompts_by: sort = "-difference", q } = place;
  const jobs = comparison.jobs.map(({ id }) => id);
  const query = useInfiniteQuery(comparedPromptsQuery({ jobs, at: comparison.at, split, sort, q }));
  const prompts = query.data?.pages.flatMap((page) => page.data);
  const total = query.data?.pages[0]?.total ?? 0;
  const prompt = place.prompt_hash ?? prompts?.[0]?.prompt_hash;
  const [text, setText] = useState(q ?? "");
  const field = useRef<HTMLInputElement>(null);
  const later = useDebouncedCallback(
    (typed: string) => onPlace({ q: typed.trim() || undefined, prompt_hash: undefined }),
    TYPING_PAUSE,
  );
  // Back and forward change the address without the field.
  useEffect(() => {
    if (document.activeElement !== field.current) setText(q ?? "");
  }, [q]);
  return (
    <section aria-label="Prompts that the jobs share">
      <search className={styles.filters}>
        <SegmentedControl
          size="xs"
          aria-label="Split"
          value={split}
          onChange={(value) =>
            onPlace({ split: value === "train" ? value : undefined, prompt_hash: undefined })
          }
          data={[
            { value: "held_out", label: "Held-out" },
            { value: "train", label: "Training" },
          ]}
        />
        <TextInput
          ref={field}
          size="xs"
          type="search"
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
          value={sort}
          data={Object.entries(SORTS).map(([value, label]) => ({ value, label }))}
          onChange={(event) => {
            const chosen = PROMPT_SORTS.find((one) => one === event.currentTarget.value);
            onPlace({ prompts_by: chosen === "-difference" ? undefined : chosen, prompt_hash: undefined });
          }}
        />
        <span role="status">{prompts && `${count(total, "prompt")} in two or more jobs`}</span>
      </search>
      {query.error && !prompts && (
        <Failure title="Could not load prompts" error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && <SkeletonCard height={240} label="Loading prompts" />}
      {prompts?.length === 0 && (
        <Empty title={q ? "No matching prompts" : "No common prompts"}>
          {q
            ? `No common prompt contains "${q}".`
            : split === "train"
              ? "No two of the jobs have scored the same prompt in training."
              : "No two of the jobs have scored the same held-out prompt."}
        </Empty>
      )}
      {prompts && prompts.length > 0 && prompt && (
        <div className={styles.pair}>
          <div className={styles.list}>
            <PromptPicker
              prompts={prompts}
              current={prompt}
              onPick={(hash) => onPlace({ prompt_hash: hash })}
            />
            {query.hasNextPage && (
              <Button
                variant="default"
                size="compact-sm"
                m={8}
                loading={query.isFetchingNextPage}
                onClick={() => void query.fetchNextPage()}
              >
                Load more
              </Button>
            )}
          </div>
          <JobCompletions comparison={comparison} prompt={prompt} split={split} />
        </div>
      )}
    </section>
  );
}
