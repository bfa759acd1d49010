import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Dataset, datasetQuery, datasetRowsQuery } from "@/api/datasets";
import { columnOfRole, itemOf, messagesOf, type Row, valueText } from "@/lib/prompt";
import { type BenchCompletion, type Case, parseItem, type RowChoice, rowsOf, windows } from "./bench";
import type { BenchSession } from "./session";

export const BY_HAND = "none";
/** In place of a dataset: completions that a job has stored. */
export const STORED = "job";
/** Whether what the address names as dataset is one. */
export const isDataset = (id: string | undefined) => id !== undefined && id !== BY_HAND && id !== STORED;
const benchCompletion = (text: string, from: BenchCompletion["from"]): BenchCompletion => ({
  text,
  from,
  done: true,
});

/** A row starts with its reference answer, which a good reward should like; without one with an empty text. */
function firstCompletions(item: Row, dataset: Dataset): BenchCompletion[] {
  const names = dataset.columns.map((column) => String(column.name));
  const answer =
    columnOfRole("answer", dataset.prompt_view ?? {}, names) ?? dataset.suggested_columns?.answer ?? null;
  const text = answer === null ? "" : valueText(item[answer]);
  return [benchCompletion(text, text === "" ? "typed" : "reference")];
}

export type Example = { item: string; completions: string[] };

/** The rows that were chosen with the completions that were given to them, and how to change those. */
export function useCases(
  datasetId: string | undefined,
  choice: RowChoice,
  example: Example,
  session: BenchSession,
) {
  const dataset = useQuery({ ...datasetQuery(datasetId ?? ""), enabled: datasetId !== undefined });
  const total = dataset.data?.rows ?? 0;
  const rows = useMemo(() => rowsOf(choice, total), [choice, total]);
  const pages = useQueries({
    queries: (datasetId === undefined ? [] : windows(rows)).map(({ offset, limit }) =>
      datasetRowsQuery(datasetId as string, offset, limit),
    ),
  });
  const values = new Map(
    pages.flatMap(({ data }) => (data?.data ?? []).map((row, i) => [(data?.offset ?? 0) + i, row] as const)),
  );
  const [changed, setChanged] = useState(session.completions);
  const [item, setItem] = useState(session.item ?? example.item);
  const written = parseItem(item);

  let cases: Case[];
  if (datasetId === undefined) {
    const row = "item" in written ? written.item : {};
    const first = example.completions.map((text) => benchCompletion(text, "typed"));
    cases = [
      { key: BY_HAND, row: null, item: row, prompt: messagesOf(row), completions: changed[BY_HAND] ?? first },
    ];
  } else {
    cases = rows.flatMap((row): Case[] => {
      const one = values.get(row);
      if (!one || !dataset.data) return [];
      const key = `${datasetId}/${row}`;
      const view = dataset.data.prompt_view ?? {};
      return [
        {
          key,
          row,
          item: itemOf(one, view),
          prompt: messagesOf(one, view),
          completions: changed[key] ?? firstCompletions(one, dataset.data),
        },
      ];
    });
  }

  const change = (key: string, edit: (old: BenchCompletion[]) => BenchCompletion[]) => {
    const completions = cases.find((one) => one.key === key)?.completions ?? [];
    setChanged((old) => ({ ...old, [key]: edit(old[key] ?? completions) }));
  };
  const show = (next: Example) => {
    setItem(next.item);
    setChanged((old) => ({
      ...old,
      [BY_HAND]: next.completions.map((text) => benchCompletion(text, "typed")),
    }));
  };
  return {
    cases,
    completions: changed,
    change,
    show,
    item,
    setItem,
    itemFault: datasetId === undefined && "fault" in written ? written.fault : null,
    dataset: dataset.data,
    error: dataset.error ?? pages.find((page) => page.error)?.error ?? null,
    loading: datasetId !== undefined && cases.length < rows.length,
  };
}
