import { Button, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { namedParts, renamed, withoutPart } from "@/lib/grader";
import { withPart } from "@/lib/grader-start";
import { isObject, type JsonObject, join } from "@/lib/paths";
import { type Node, variants } from "@/lib/spec-schema";
import { idOf, useBuilder } from "./context";
import { GateRow } from "./GateRow";
import styles from "./Grader.module.css";
import { GraderNode } from "./GraderNode";
import { ProblemList } from "./ProblemList";
import { at, under } from "./problems";

type Props = {
  path: string;
  node: Node;
  item: Node;
  multi: JsonObject;
  onChange: (multi: JsonObject) => void;
};

/** A part's name: taken over when it is free, on Enter or when the field is left, so that no half name is stored. */
function PartName({
  id,
  name,
  taken,
  onName,
}: {
  id: string;
  name: string;
  taken: readonly string[];
  onName: (name: string) => void;
}) {
  const { readOnly } = useBuilder();
  const [text, setText] = useState(name);
  useEffect(() => setText(name), [name]);
  const free = text === name || !taken.includes(text);
  const good = /^[A-Za-z_]\w{0,63}$/.test(text);
  const fault = free
    ? good
      ? null
      : "Letters, digits and _, starting with a letter; used in the formula."
    : "This name is already in use.";
  const done = () => (fault ? undefined : text !== name && onName(text));
  return (
    <TextInput
      id={id}
      label="Name in the formula"
      value={text}
      error={fault}
      disabled={readOnly}
      maxLength={64}
      autoComplete="off"
      spellCheck={false}
      classNames={{ input: styles.mono }}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={done}
      onKeyDown={(event) => event.key === "Enter" && done()}
    />
  );
}

/** The sub-graders of a multi: named, each with its type, its fields and when it runs. */
export function Parts({ path, node, item, multi, onChange }: Props) {
  const { root, problems, hints, readOnly } = useBuilder();
  const parts = namedParts(multi.graders);
  const names = Object.keys(parts);
  const gates = `${path.slice(0, -"graders".length)}gates`;
  const of = variants(item, root)?.of ?? {};
  const set = (name: string, next: JsonObject) => onChange({ ...multi, graders: { ...parts, [name]: next } });
  return (
    <fieldset className={styles.group}>
      <legend>Graders</legend>
      <ProblemList problems={at(problems, path)} />
      <ProblemList problems={under(problems, gates)} />
      {names.map((name, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part keeps its place while its name changes
        <section key={i} className={styles.part} aria-label={`Part ${name}`}>
          <div className={styles.partHead}>
            <PartName
              id={idOf(`${join(path, name)}-name`)}
              name={name}
              taken={names}
              onName={(next) => onChange(renamed(multi, name, next))}
            />
            {!readOnly && names.length > 1 && (
              <Button
                variant="default"
                size="compact-sm"
                aria-label={`Remove ${name}`}
                onClick={() => onChange(withoutPart(multi, name))}
              >
                Remove
              </Button>
            )}
          </div>
          <GraderNode
            path={join(path, name)}
            of={of}
            label={`Type of ${name}`}
            value={isObject(parts[name]) ? (parts[name] as JsonObject) : {}}
            onChange={(next) => set(name, next)}
          />
          {names.length > 1 && <GateRow name={name} others={names} multi={multi} onChange={onChange} />}
        </section>
      ))}
      {!readOnly && names.length < (node.maxProperties ?? 16) && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => onChange(withPart(multi, of, root, hints))}
        >
          Add a grader
        </Button>
      )}
    </fieldset>
  );
}
