import { NativeSelect } from "@mantine/core";
import { useState } from "react";
import problemStyles from "@/components/Problems.module.css";
import { Words } from "@/components/spec/Words";
import { arranged, byImportance, labelOf, shapeOf } from "@/lib/grader";
import { retyped, typesOf } from "@/lib/grader-start";
import { isObject, type Json, type JsonObject, join } from "@/lib/paths";
import { type Node, resolve } from "@/lib/spec-schema";
import { idOf, useBuilder } from "./context";
import styles from "./Grader.module.css";
import { GraderField } from "./GraderField";
import { Items } from "./Items";
import { Parts } from "./Parts";
import { ProblemList } from "./ProblemList";
import { at, strays, under } from "./problems";

type OneProps = {
  path: string;
  name: string;
  node: Node;
  owner: JsonObject;
  required: boolean;
  onChange: (owner: JsonObject) => void;
};

/** One key of an object, in the shape that its schema asks for. */
function One({ path, name, node, owner, required, onChange }: OneProps) {
  const { root } = useBuilder();
  const shape = shapeOf(name, node, root);
  const value = owner[name];
  const set = (next: Json | undefined) => {
    const { [name]: _, ...others } = owner;
    onChange(next === undefined ? others : { ...owner, [name]: next });
  };
  if (shape.kind === "items")
    return <Items path={path} name={name} node={node} item={shape.item} value={value} onChange={set} />;
  if (shape.kind === "named" && name === "graders")
    return <Parts path={path} node={node} item={shape.item} multi={owner} onChange={onChange} />;
  // A part's gate is rendered with the part.
  if (shape.kind === "named") return null;
  if (shape.kind === "object")
    return (
      <fieldset className={styles.group}>
        <legend>{labelOf(name)}</legend>
        <Fields
          path={path}
          node={shape.node}
          value={isObject(value) ? value : {}}
          onChange={(next) => set(Object.keys(next).length > 0 ? next : undefined)}
        />
      </fieldset>
    );
  return (
    <GraderField
      path={path}
      name={name}
      node={node}
      shape={shape}
      required={required}
      value={value}
      owner={owner}
      onChange={set}
    />
  );
}

type FieldsProps = {
  path: string;
  node: Node;
  value: JsonObject;
  /** Nothing is behind "More". */
  whole?: boolean;
  onChange: (value: JsonObject) => void;
};

/** The fields of an object: what matters first, the rest behind "More". */
export function Fields({ path, node, value, whole = false, onChange }: FieldsProps) {
  const { root, problems } = useBuilder();
  const names = Object.keys(node.properties ?? {});
  const { first, more } = whole
    ? { first: names.filter((key) => key !== "type"), more: [] }
    : byImportance(node, root);
  const [opened, setOpened] = useState(() => more.some((key) => key !== "name" && value[key] !== undefined));
  const wrong = more.some((key) => under(problems, join(path, key)).length > 0);
  const one = (key: string) => {
    const inner = resolve(node.properties?.[key] ?? {}, root);
    return (
      <One
        key={key}
        path={join(path, key)}
        name={key}
        node={inner}
        owner={value}
        required={node.required?.includes(key) ?? false}
        onChange={(next) => onChange(arranged(next, node))}
      />
    );
  };
  const shownMore = more.filter((key) => {
    const inner = resolve(node.properties?.[key] ?? {}, root);
    // A part is labelled by its key; a gate is rendered with its part.
    const twice = key === "name" && path !== "" && value.name === undefined;
    return !twice && shapeOf(key, inner, root).kind !== "named" && inner.const === undefined;
  });
  return (
    <>
      <ProblemList problems={strays(problems, path, names)} />
      {first.map(one)}
      {shownMore.length > 0 && (
        <details
          className={styles.more}
          open={opened || wrong}
          onToggle={(event) => setOpened(event.currentTarget.open)}
        >
          <summary>
            More <span>{shownMore.map(labelOf).join(", ").toLowerCase()}</span>
          </summary>
          {(opened || wrong) && shownMore.map(one)}
        </details>
      )}
    </>
  );
}

type Props = {
  path: string;
  /** What is offered: all types, or those that may be a part. */
  of: Record<string, Node>;
  value: JsonObject;
  label: string;
  onChange: (value: JsonObject) => void;
};

/** A grader: its type, and that type's fields. */
export function GraderNode({ path, of, value, label, onChange }: Props) {
  const { root, problems, hints, readOnly } = useBuilder();
  const type = typeof value.type === "string" ? value.type : "";
  const node = of[type];
  const id = idOf(join(path, "type"));
  const messages = at(problems, path);
  const types = typesOf(of);
  return (
    <div className={styles.grader}>
      <div className={styles.field}>
        <label htmlFor={id}>{label}</label>
        <NativeSelect
          id={id}
          disabled={readOnly}
          error={!node}
          value={node ? type : ""}
          data={node ? types : [{ value: "", label: type === "" ? "Choose a type" : `${type}?` }, ...types]}
          onChange={(event) => {
            const next = event.currentTarget.value;
            if (next) onChange(retyped(value, next, of, root, hints));
          }}
        />
        {node ? <ProblemList problems={messages} /> : <p className={problemStyles.problems}>Unknown type.</p>}
        {node?.description && (
          <small>
            <Words text={node.description} />
          </small>
        )}
      </div>
      {node && <Fields key={type} path={path} node={node} value={value} onChange={onChange} />}
    </div>
  );
}
