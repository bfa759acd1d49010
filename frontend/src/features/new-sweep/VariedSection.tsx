import { type ComboboxParsedItem, Select } from "@mantine/core";
import { useMemo, useState } from "react";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { isNumeric, searches, type Varied } from "./draft";
import { fieldGroups, matches } from "./fields";
import { focusPlace, placeId, useSweepForm } from "./form";
import { VariedRow } from "./VariedRow";

/** The settings that differ between the jobs. */
export function VariedSection() {
  const { draft, set, fields, problems, readOnly } = useSweepForm();
  const [search, setSearch] = useState("");
  const ladder = draft.method === "ladder";
  const groups = useMemo(
    () => fieldGroups(fields, new Set(draft.varied.map(({ path }) => path))),
    [fields, draft.varied],
  );
  const add = (path: string) => {
    const field = fields.get(path);
    const range = field !== undefined && isNumeric(field) && searches(draft.method);
    const row: Varied = {
      path,
      kind: range ? "range" : "list",
      values: [],
      log: path === "optimizer.learning_rate",
    };
    set({ varied: [...draft.varied, row] });
    setSearch("");
    requestAnimationFrame(() => focusPlace(`path:${path}`));
  };
  const replace = (index: number, rows: readonly Varied[]) =>
    set({ varied: draft.varied.flatMap((old, i) => (i === index ? rows : [old])) });
  const up = (index: number) => {
    const rows = [...draft.varied];
    rows.splice(index - 1, 0, ...rows.splice(index, 1));
    set({ varied: rows });
  };
  return (
    <section className={page.part} aria-labelledby="part-varied">
      <h2 id="part-varied">{ladder ? "Settings of the ladder, in order" : "Settings to vary"}</h2>
      <p>
        {ladder
          ? "The first job is the job unchanged; every later job has one more rung: one of these settings, or several together."
          : "Any fields of the job. If you add none, only the seeds differ."}
      </p>
      {draft.varied.map((row, index) => (
        <VariedRow
          key={row.path}
          row={row}
          onChange={(next) => replace(index, [next])}
          onRemove={() => replace(index, [])}
          mayJoin={ladder && index > 0}
          onUp={ladder && index > 0 ? () => up(index) : undefined}
        />
      ))}
      <Select
        id={placeId("varied")}
        label="Add a setting"
        placeholder={draft.base ? "Search by name, such as learning rate" : "Choose a job first"}
        disabled={readOnly || !draft.base}
        searchable
        searchValue={search}
        onSearchChange={setSearch}
        value={null}
        data={groups}
        maxDropdownHeight={320}
        nothingFoundMessage="No such field"
        filter={({ options, search }) =>
          options.flatMap((option): ComboboxParsedItem[] => {
            if (!("items" in option))
              return matches(fields.get(option.value), option.value, search) ? [option] : [];
            const items = option.items.filter(({ value }) => matches(fields.get(value), value, search));
            return items.length > 0 ? [{ ...option, items }] : [];
          })
        }
        onChange={(path) => path && add(path)}
      />
      <Problems problems={problems.get("varied")} />
    </section>
  );
}
