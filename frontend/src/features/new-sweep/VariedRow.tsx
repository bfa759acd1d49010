import {
  Button,
  Checkbox,
  MultiSelect,
  NativeSelect,
  SegmentedControl,
  TagsInput,
  TextInput,
} from "@mantine/core";
import { Problems } from "@/components/Problems";
import { NumberText } from "@/components/spec/Control";
import { Path, Words } from "@/components/spec/Words";
import type { Json } from "@/lib/paths";
import { range as rangeText } from "@/lib/spec-fields";
import { valueText } from "@/lib/spec-values";
import { isNumeric, splitNumbers, type Varied } from "./draft";
import { placeId, useSweepForm } from "./form";
import styles from "./NewSweep.module.css";
import { useOptions } from "./use-options";

type Props = {
  row: Varied;
  onChange: (row: Varied) => void;
  onRemove: () => void;
  onUp: (() => void) | undefined;
  /** Whether the row may share a rung with the one above. */
  mayJoin: boolean;
};

function Values({
  row,
  onChange,
  label,
  id,
}: Pick<Props, "row" | "onChange"> & { label: string; id: string }) {
  const { draft, fields, problems, readOnly } = useSweepForm();
  const field = fields.get(row.path);
  const options = useOptions(field);
  const numeric = field !== undefined && isNumeric(field);
  const common = { id, disabled: readOnly, error: problems.has(`path:${row.path}`), "aria-label": label };
  if (draft.method === "ladder")
    return options ? (
      <NativeSelect
        {...common}
        value={row.values[0] ?? ""}
        data={[{ value: "", label: "Choose" }, ...options]}
        onChange={(event) =>
          onChange({ ...row, values: event.currentTarget.value ? [event.currentTarget.value] : [] })
        }
      />
    ) : (
      <TextInput
        {...common}
        autoComplete="off"
        placeholder={numeric ? "one number" : "one value"}
        value={row.values[0] ?? ""}
        onChange={(event) =>
          onChange({ ...row, values: event.currentTarget.value ? [event.currentTarget.value] : [] })
        }
      />
    );
  if (options)
    return (
      <MultiSelect
        {...common}
        searchable
        hidePickedOptions
        placeholder={row.values.length > 0 ? "" : "Choose values"}
        data={options}
        value={[...row.values]}
        onChange={(values) => onChange({ ...row, values })}
      />
    );
  return (
    <TagsInput
      {...common}
      splitChars={numeric ? [",", " ", ";"] : []}
      placeholder={row.values.length > 0 ? "" : numeric ? "such as 4, 8, 16" : "Type a value, then Enter"}
      data={[]}
      value={[...row.values]}
      onChange={(values) => onChange({ ...row, values: numeric ? splitNumbers(values) : values })}
    />
  );
}

function Range({
  row,
  onChange,
  label,
  id,
}: Pick<Props, "row" | "onChange"> & { label: string; id: string }) {
  const { draft, problems, readOnly } = useSweepForm();
  const number = (name: "min" | "max" | "points", title: string, placeholder: string) => (
    <div className={styles.short}>
      <label htmlFor={name === "min" ? id : `${id}-${name}`}>{title}</label>
      <NumberText
        id={name === "min" ? id : `${id}-${name}`}
        label={`${title} (${label})`}
        invalid={problems.has(`path:${row.path}`)}
        disabled={readOnly}
        placeholder={placeholder}
        value={row[name]}
        onChange={(value: Json | undefined) => onChange({ ...row, [name]: value })}
      />
    </div>
  );
  return (
    <div className={styles.range}>
      {number("min", "Minimum", "min")}
      {number("max", "Maximum", "max")}
      {draft.method === "grid" && number("points", "Values", "such as 4")}
      <Checkbox
        label="Logarithmic"
        disabled={readOnly}
        checked={row.log}
        onChange={(event) => onChange({ ...row, log: event.currentTarget.checked })}
      />
    </div>
  );
}

/** One setting with its values. */
export function VariedRow({ row, onChange, onRemove, onUp, mayJoin }: Props) {
  const { draft, fields, problems, readOnly } = useSweepForm();
  const field = fields.get(row.path);
  const label = field?.label ?? row.path;
  const id = placeId(`path:${row.path}`);
  const ranged = row.kind === "range" && draft.method !== "ladder";
  const now = field?.value ?? field?.fallback;
  const about = [
    now !== undefined && now !== null && `The job has ${valueText(now)}.`,
    field && rangeText(field) && `Allowed: ${rangeText(field)}.`,
  ].filter(Boolean);
  return (
    <div className={styles.row} data-joined={(mayJoin && row.joined) || undefined}>
      <div className={styles.head}>
        <b>{label}</b>
        <Path path={row.path} />
        {onUp && (
          <Button
            variant="default"
            size="compact-sm"
            disabled={readOnly}
            onClick={onUp}
            aria-label={`Move ${row.path} up`}
          >
            Up
          </Button>
        )}
        <Button
          variant="default"
          size="compact-sm"
          disabled={readOnly}
          onClick={onRemove}
          aria-label={`Remove ${row.path}`}
        >
          Remove
        </Button>
      </div>
      {field && isNumeric(field) && draft.method !== "ladder" && (
        <SegmentedControl
          aria-label={`Kind of values of ${row.path}`}
          size="xs"
          disabled={readOnly}
          value={row.kind}
          onChange={(kind) => onChange({ ...row, kind: kind as Varied["kind"] })}
          data={[
            { value: "list", label: "List" },
            { value: "range", label: "Range" },
          ]}
        />
      )}
      {ranged ? (
        <Range row={row} onChange={onChange} label={row.path} id={id} />
      ) : (
        <Values row={row} onChange={onChange} label={`Values of ${row.path}`} id={id} />
      )}
      {mayJoin && (
        <Checkbox
          label="Add it together with the setting above, in one rung"
          aria-label={`Add ${row.path} together with the setting above`}
          disabled={readOnly}
          checked={row.joined === true}
          onChange={(event) => onChange({ ...row, joined: event.currentTarget.checked })}
        />
      )}
      <Problems problems={problems.get(`path:${row.path}`)} />
      <small>
        {field && <Words text={field.description} />} {about.join(" ")}
      </small>
    </div>
  );
}
