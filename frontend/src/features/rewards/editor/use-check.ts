import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import type { ApiError } from "@/api/client";
import { type RewardEntry, rewardCheckQuery } from "@/api/rewards";
import { count } from "@/lib/format";

const CHECK_AFTER_MS = 500;
const NO_PROBLEMS: [] = [];

/** The sandbox's report on the current source. */
export function useCheck(source: string, entry: string | null, off: boolean) {
  const [settled] = useDebouncedValue(source, CHECK_AFTER_MS);
  const options = rewardCheckQuery(settled, entry);
  const check = useQuery({ ...options, enabled: !off && settled.trim() !== "" });
  const current = settled === source && !check.isPlaceholderData;
  return {
    check,
    problems: check.data?.problems ?? NO_PROBLEMS,
    entries: check.data?.entries ?? [],
    current,
  };
}

/** Both in one sentence; `found` says what it is when nothing is wrong with it. */
export function checkWords(
  { check, problems, entries, current }: ReturnType<typeof useCheck>,
  summarize: (entries: readonly RewardEntry[]) => string = functions,
): string {
  const error = check.error as ApiError | null;
  if (error) return `Not checked. ${error.message} ${error.hint ?? ""}`;
  if (!current || !check.data) return "Checking…";
  const [first] = problems;
  if (first) {
    const place = first.line == null ? "" : `Line ${first.line}: `;
    const more = problems.length > 1 ? ` (and ${count(problems.length - 1, "more problem")})` : "";
    return `${place}${first.message}${more}`;
  }
  return summarize(entries);
}

function functions(entries: readonly RewardEntry[]): string {
  const names = entries.map(({ name, line }) => (line ? `${name}() on line ${line}` : `${name}()`));
  return `Loads. Found ${names.join(", ")}.`;
}
