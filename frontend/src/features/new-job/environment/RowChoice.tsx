import { NativeSelect, NumberInput, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { datasetQuery, datasetRowsQuery } from "@/api/datasets";
import { getAt, isObject, type JsonObject } from "@/lib/paths";
import { itemOf, type PromptView } from "@/lib/prompt";
import { type Draft, datasetOf } from "../draft";
import styles from "./Environment.module.css";

type How = "row" | "custom" | "none";

/** The row that a tool receives as `item`, or a class at its reset: of the dataset, or as written. */
export function useRow(draft: Draft) {
  const dataset = datasetOf(draft);
  const [chosen, setHow] = useState<How | null>(null);
  const [number, setNumber] = useState(1);
  const [text, setText] = useState("{}");
  const how = chosen === "row" && !dataset ? "none" : (chosen ?? (dataset ? "row" : "none"));
  const rows = useQuery({ ...datasetQuery(dataset ?? ""), enabled: dataset !== undefined }).data?.rows ?? 1;
  const data = useQuery({
    ...datasetRowsQuery(dataset ?? "", number - 1, 1),
    enabled: how === "row" && dataset !== undefined,
  });
  const view = { columns: getAt(draft, "data.columns") } as PromptView;
  const custom = how === "custom" ? parsed(text) : null;
  const ofDataset = data.data?.data[0];
  const item: JsonObject | null =
    how === "none"
      ? {}
      : how === "custom"
        ? custom
        : ofDataset
          ? (itemOf(ofDataset, view) as JsonObject)
          : null;
  return { item, how, setHow, number, setNumber, rows, text, setText, dataset, error: data.error };
}

export type RowState = ReturnType<typeof useRow>;

function parsed(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function RowChoice({ row }: { row: RowState }) {
  const { item, how, setHow, number, setNumber, rows, text, setText, dataset, error } = row;
  return (
    <>
      <div className={styles.row}>
        <NativeSelect
          label="Item"
          value={how}
          data={[
            ...(dataset ? [{ value: "row", label: "Row of the dataset" }] : []),
            { value: "none", label: "Empty row" },
            { value: "custom", label: "Custom row" },
          ]}
          onChange={(event) => setHow(event.currentTarget.value as How)}
        />
        {how === "row" && (
          <NumberInput
            label="Row"
            min={1}
            max={rows}
            value={number}
            error={error?.message}
            onChange={(value) => typeof value === "number" && value >= 1 && setNumber(Math.round(value))}
          />
        )}
      </div>
      {how === "custom" && (
        <Textarea
          label="Custom row"
          description="One JSON object."
          autosize
          minRows={2}
          maxRows={8}
          value={text}
          error={item === null ? "This is not a JSON object." : undefined}
          styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5 } }}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      )}
    </>
  );
}
