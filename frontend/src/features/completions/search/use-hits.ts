import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { type CompletionPlace, type CompletionRow, searchQuery } from "@/api/completions";
import { count } from "@/lib/format";
import { chips, type Find, toSearch } from "./find";

const same = (row: CompletionRow, place: CompletionPlace) =>
  row.step === place.step &&
  row.split === place.split &&
  row.prompt_no === place.prompt_no &&
  row.sample_no === place.sample_no;

/** What a search found so far. Asked for only when `enabled`. */
export function useHits(job: string, find: Find, enabled: boolean) {
  const query = useInfiniteQuery({ ...searchQuery(job, toSearch(find)), enabled });
  const pages = query.data?.pages;
  const rows = useMemo(() => pages?.flatMap((page) => page.data) ?? [], [pages]);
  const [first] = pages ?? [];
  return {
    query,
    rows,
    /** `57 completions`, `at least 10 000 completions`. */
    total: first && totalWords(first),
    isNarrowed: chips(find).length > 0,
    indexOf: (place: CompletionPlace) => rows.findIndex((row) => same(row, place)),
  };
}

export type Hits = ReturnType<typeof useHits>;

/** The server stops counting at `counted_to`. */
export const totalWords = ({ total, counted_to }: { total: number; counted_to: number }) =>
  `${total >= counted_to ? "at least " : ""}${count(total, "completion")}`;
