import { Autocomplete, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { type JobFilter, jobFacetsQuery } from "@/api/job-list";
import { ColumnChooser } from "./ColumnChooser";
import styles from "./JobList.module.css";
import { SavedViews } from "./SavedViews";

type Props = { filter: JobFilter; onFilter: (filter: JobFilter) => void };

const FACETS = [
  ["tag", "Tag", "tags"],
  ["model", "Model", "models"],
  ["preset", "Preset", "presets"],
  ["owner", "Owner", "owners"],
] as const;

const GROUPS = [
  "algorithm.preset",
  "optimizer.learning_rate",
  "rollout.completions_per_prompt",
  "rollout.max_completion_tokens",
  "limits.steps",
  "data.dataset",
  "seed",
];

const ARCHIVED = [
  { value: "only", label: "Archived only" },
  { value: "include", label: "With archived" },
] as const;

/** Further filters, grouping, columns and saved views; all but the views are in the address. */
export function ListChoices({ filter, onFilter }: Props) {
  const facets = useQuery(jobFacetsQuery).data;
  const [group, setGroup] = useState(filter.group ?? "");
  useEffect(() => setGroup(filter.group ?? ""), [filter.group]);
  const applyGroup = (path: string) => onFilter({ ...filter, group: path.trim() || undefined });
  return (
    <div className={styles.choices}>
      {FACETS.map(([key, label, list]) => (
        <Select
          key={key}
          aria-label={label}
          placeholder={label}
          w={130}
          searchable
          clearable
          data={[...new Set([...(facets?.[list] ?? []), ...(filter[key] ? [filter[key]] : [])])]}
          value={filter[key] ?? null}
          onChange={(value) => onFilter({ ...filter, [key]: value ?? undefined })}
        />
      ))}
      <Select
        aria-label="Archived jobs"
        placeholder="Not archived"
        w={150}
        clearable
        data={ARCHIVED}
        value={filter.archived ?? null}
        onChange={(value) =>
          onFilter({ ...filter, archived: ARCHIVED.find((one) => one.value === value)?.value })
        }
      />
      <Autocomplete
        aria-label="Group by a setting"
        placeholder="Group by a setting"
        w={220}
        clearable
        data={GROUPS}
        value={group}
        onChange={(path) => {
          setGroup(path);
          if (path === "") applyGroup(path);
        }}
        onOptionSubmit={applyGroup}
        onBlur={() => group !== (filter.group ?? "") && applyGroup(group)}
        onKeyDown={(event) => event.key === "Enter" && applyGroup(group)}
      />
      <ColumnChooser columns={filter.columns} onColumns={(columns) => onFilter({ ...filter, columns })} />
      <SavedViews filter={filter} onFilter={onFilter} />
    </div>
  );
}
