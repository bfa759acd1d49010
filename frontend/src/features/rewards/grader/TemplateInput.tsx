import { Button, Menu, Textarea } from "@mantine/core";
import { useRef } from "react";
import { itemName, SAMPLE_NAMES, unknownColumns } from "@/lib/grader";
import type { Json } from "@/lib/paths";
import { useBuilder } from "./context";
import styles from "./Grader.module.css";

type Props = {
  id: string;
  label: string;
  describedBy: string;
  value: Json | undefined;
  placeholder: string;
  invalid: boolean;
  onChange: (value: Json | undefined) => void;
};

function Names({ label, onPick }: { label: string; onPick: (name: string) => void }) {
  const { columns } = useBuilder();
  const item = (name: string, detail: string) => (
    <Menu.Item
      key={name}
      rightSection={<span className={styles.quiet}>{detail}</span>}
      onClick={() => onPick(name)}
    >
      <code>{name}</code>
    </Menu.Item>
  );
  return (
    <Menu position="bottom-end" returnFocus={false} width={300}>
      <Menu.Target>
        <Button variant="default" size="compact-xs" aria-label={`Insert a name into ${label}`}>
          Insert {"{{ }}"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown className={styles.names}>
        <Menu.Label>The completion</Menu.Label>
        {SAMPLE_NAMES.map(([name, detail]) => item(name, detail))}
        <Menu.Label>
          {columns.length > 0 ? "Columns of the row" : "Choose a dataset to see its columns"}
        </Menu.Label>
        {columns.map(({ name, type }) => item(itemName(name), type))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** A text with `{{ item.… }}` and `{{ sample.… }}` in it, which are inserted where the caret is. */
export function TemplateInput(props: Props) {
  const { id, label, describedBy, value, placeholder, invalid, onChange } = props;
  const { columns, readOnly } = useBuilder();
  const area = useRef<HTMLTextAreaElement>(null);
  if (value !== undefined && value !== null && typeof value !== "string") {
    return (
      <output id={id} className={styles.fixed} tabIndex={-1}>
        This value has several parts: edit it in the JSON.
      </output>
    );
  }
  const text = value ?? "";
  const insert = (name: string) => {
    const { selectionStart = text.length, selectionEnd = text.length } = area.current ?? {};
    const added = `{{ ${name} }}`;
    onChange(text.slice(0, selectionStart) + added + text.slice(selectionEnd));
    // After the menu has given the focus back.
    window.setTimeout(() => {
      area.current?.focus();
      area.current?.setSelectionRange(selectionStart + added.length, selectionStart + added.length);
    });
  };
  const unknown = unknownColumns(
    text,
    columns.map(({ name }) => name),
  );
  return (
    <div className={styles.template}>
      {!readOnly && <Names label={label} onPick={insert} />}
      <Textarea
        ref={area}
        id={id}
        aria-label={label}
        aria-describedby={describedBy}
        error={invalid}
        disabled={readOnly}
        autosize
        minRows={1}
        maxRows={10}
        dir="auto"
        placeholder={placeholder}
        value={text}
        classNames={{ input: styles.mono }}
        onChange={(event) =>
          onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.value)
        }
      />
      {unknown.length > 0 && (
        <p className={styles.warning}>
          The test rows have no {unknown.map((name) => `“${name}”`).join(", ")}.
        </p>
      )}
    </div>
  );
}
