import { Button, Popover, TextInput } from "@mantine/core";
import { useState } from "react";
import { SETTING } from "@/api/job-list";
import { COLUMN_CHOICES, DEFAULT_COLUMNS } from "./columns";
import styles from "./JobList.module.css";

type Props = { columns: string | undefined; onColumns: (columns: string | undefined) => void };

const PATH = /^[a-z0-9_]+(\.[A-Za-z0-9_-]+){0,9}$/;

/** Which columns the table has; any setting of the specification can be one. */
export function ColumnChooser({ columns, onColumns }: Props) {
  const [path, setPath] = useState("");
  const names = (columns ?? DEFAULT_COLUMNS).split(",").filter(Boolean);
  const settings = names.filter((name) => name.startsWith(SETTING));
  const toggle = (name: string) => {
    const next = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
    onColumns(next.join(",") === DEFAULT_COLUMNS ? undefined : next.join(","));
  };
  const valid = PATH.test(path.trim());
  return (
    <Popover position="bottom-end" trapFocus>
      <Popover.Target>
        <Button variant="default">Columns</Button>
      </Popover.Target>
      <Popover.Dropdown className={styles.columns}>
        {COLUMN_CHOICES.map(({ value, label }) => (
          <label key={value} className={styles.column}>
            <input type="checkbox" checked={names.includes(value)} onChange={() => toggle(value)} />
            {label}
          </label>
        ))}
        {settings.map((name) => (
          <label key={name} className={styles.column}>
            <input type="checkbox" checked onChange={() => toggle(name)} />
            {name.slice(SETTING.length)}
          </label>
        ))}
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (valid && !names.includes(`${SETTING}${path.trim()}`)) toggle(`${SETTING}${path.trim()}`);
            if (valid) setPath("");
          }}
        >
          <TextInput
            label="Setting"
            placeholder="optimizer.learning_rate"
            value={path}
            error={path.trim() !== "" && !valid && "Write a path such as optimizer.learning_rate."}
            onChange={(event) => setPath(event.currentTarget.value)}
          />
          <Button type="submit" mt={8} variant="default" disabled={!valid}>
            Add column
          </Button>
        </form>
        <Button variant="subtle" onClick={() => onColumns(undefined)}>
          Default columns
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}
