import { NativeSelect, TagsInput, Textarea, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Json, JsonObject } from "@/lib/paths";
import type { Field } from "@/lib/spec-fields";
import { fromLines, parseNumber, toLines, valueText } from "@/lib/spec-values";
import styles from "./Control.module.css";

type Common = {
  id: string;
  /** The field's name where no visible label is tied to the control. */
  label: string;
  describedBy?: string;
  invalid: boolean;
  disabled: boolean;
};
type Props = Common & {
  field: Field;
  onChange: (value: Json | undefined) => void;
  suggestions?: string[];
  /** Meaning of an empty field, if the default does not say it. */
  placeholder?: string;
};

const aria = ({ id, label, describedBy, invalid, disabled }: Common) => ({
  id,
  disabled,
  error: invalid,
  "aria-label": label,
  "aria-describedby": describedBy,
});

/** A number as text, so that `1e-` can be typed on the way to `1e-5`; empty is the default. */
export function NumberText(
  props: Common & {
    value: Json | undefined;
    placeholder: string;
    onChange: (value: Json | undefined) => void;
  },
) {
  const { value, placeholder, onChange } = props;
  const [text, setText] = useState(() => valueText(value));
  useEffect(() => setText((old) => (parseNumber(old) === value ? old : valueText(value))), [value]);
  return (
    <TextInput
      {...aria(props)}
      inputMode="decimal"
      autoComplete="off"
      placeholder={placeholder}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        onChange(parseNumber(event.currentTarget.value));
      }}
    />
  );
}

function Choice(props: Props) {
  const { field, onChange } = props;
  const fallback = valueText(field.fallback);
  const [first, ...rest] = field.fallback == null ? [] : [fallback];
  const unset = field.required ? "Choose" : "default";
  const standard = props.placeholder ?? `${first} (default)`;
  const others = field.options.filter((option) => option.value !== first).map((option) => option.value);
  return (
    <NativeSelect
      {...aria(props)}
      value={field.value === undefined || field.value === field.fallback ? "" : String(field.value)}
      data={[{ value: "", label: first === undefined ? unset : standard }, ...rest, ...others]}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    />
  );
}

function Tuple(props: Props) {
  const { field, onChange } = props;
  const fallback = Array.isArray(field.fallback) ? (field.fallback as Json[]) : [];
  const value = Array.isArray(field.value) ? (field.value as Json[]) : undefined;
  return (
    <div className={styles.tuple}>
      {fallback.map((own, i) => (
        <NumberText
          // biome-ignore lint/suspicious/noArrayIndexKey: the places of a pair are its names
          key={i}
          {...props}
          id={i === 0 ? props.id : `${props.id}-${i}`}
          label={`${props.label}, ${i + 1} of ${fallback.length}`}
          placeholder={valueText(own)}
          value={value && value[i] !== own ? value[i] : undefined}
          onChange={(next) => {
            const list = fallback.map((one, at) => (at === i ? (next ?? one) : (value?.[at] ?? one)));
            onChange(list.every((one, at) => one === fallback[at]) ? undefined : list);
          }}
        />
      ))}
    </div>
  );
}

function Words(props: Props) {
  const { field, onChange, suggestions = [] } = props;
  const list = Array.isArray(field.value) ? (field.value as string[]) : [];
  return (
    <TagsInput
      {...aria(props)}
      placeholder={
        list.length > 0 ? "" : field.fallback === undefined ? "" : valueText(field.fallback) || "none"
      }
      splitChars={[]}
      data={suggestions}
      value={list}
      onChange={(next) => onChange(next.length > 0 ? next : undefined)}
    />
  );
}

/** `key: value`, one per line. */
function Lines(props: Props) {
  const { field, onChange } = props;
  const value = field.value as JsonObject | undefined;
  const [text, setText] = useState(() => toLines(value));
  useEffect(
    () => setText((old) => (toLines(fromLines(old)) === toLines(value) ? old : toLines(value))),
    [value],
  );
  return (
    <Textarea
      {...aria(props)}
      autosize
      minRows={1}
      maxRows={8}
      placeholder="key: value"
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        onChange(fromLines(event.currentTarget.value));
      }}
    />
  );
}

/** The control that a kind of field is edited with. */
export function Control(props: Props) {
  const { field, onChange } = props;
  const placeholder = props.placeholder ?? (field.fallback == null ? "not set" : valueText(field.fallback));
  switch (field.kind) {
    case "integer":
    case "number":
    case "word_or_number":
      return <NumberText {...props} value={field.value} placeholder={placeholder} />;
    case "choice":
    case "variant":
    case "boolean":
      return <Choice {...props} />;
    case "tuple":
      return <Tuple {...props} />;
    case "list":
    case "word_or_list":
      return <Words {...props} />;
    case "map":
      return <Lines {...props} />;
    case "fixed":
      return (
        <output id={props.id} className={styles.fixed} tabIndex={-1}>
          {field.options.map((option) => option.value).join(", ")}
        </output>
      );
    default: {
      const text = typeof field.value === "string" ? field.value : "";
      const onText = (next: string) => onChange(next === "" ? undefined : next);
      return field.long ? (
        <Textarea
          {...aria(props)}
          autosize
          minRows={2}
          maxRows={12}
          placeholder={placeholder}
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
        />
      ) : (
        <TextInput
          {...aria(props)}
          autoComplete="off"
          placeholder={placeholder}
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
        />
      );
    }
  }
}
