import { Button, TextInput } from "@mantine/core";
import { useRef } from "react";
import { namedParts } from "@/lib/grader";
import type { Json } from "@/lib/paths";
import { useBuilder } from "./context";
import styles from "./Grader.module.css";

type Props = {
  id: string;
  label: string;
  describedBy: string;
  invalid: boolean;
  value: Json | undefined;
  parts: Json | undefined;
  onChange: (value: Json | undefined) => void;
};

/** Arithmetic over the parts' names, which are put in by a click. The server reads it while it is typed. */
export function Formula({ id, label, describedBy, invalid, value, parts, onChange }: Props) {
  const { readOnly } = useBuilder();
  const input = useRef<HTMLInputElement>(null);
  const text = typeof value === "string" ? value : "";
  const insert = (name: string) => {
    const { selectionStart, selectionEnd } = input.current ?? {};
    const [from, to] = [selectionStart ?? text.length, selectionEnd ?? text.length];
    onChange(text.slice(0, from) + name + text.slice(to));
    window.setTimeout(() => {
      input.current?.focus();
      input.current?.setSelectionRange(from + name.length, from + name.length);
    });
  };
  return (
    <>
      <TextInput
        ref={input}
        id={id}
        aria-label={label}
        aria-describedby={describedBy}
        error={invalid}
        disabled={readOnly}
        autoComplete="off"
        spellCheck={false}
        classNames={{ input: styles.mono }}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      {!readOnly && (
        <div className={styles.chips}>
          {Object.keys(namedParts(parts)).map((name) => (
            <Button
              key={name}
              variant="default"
              size="compact-xs"
              aria-label={`Insert ${name} into the formula`}
              onClick={() => insert(name)}
            >
              {name}
            </Button>
          ))}
        </div>
      )}
    </>
  );
}
