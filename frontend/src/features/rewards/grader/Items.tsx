import { Button } from "@mantine/core";
import { labelOf } from "@/lib/grader";
import { isObject, type Json } from "@/lib/paths";
import type { Node } from "@/lib/spec-schema";
import { useBuilder } from "./context";
import styles from "./Grader.module.css";
import { Fields } from "./GraderNode";
import { ProblemList } from "./ProblemList";
import { at } from "./problems";

type Props = {
  path: string;
  name: string;
  node: Node;
  item: Node;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
};

/** A list of objects, such as the messages for a judge. */
export function Items({ path, name, node, item, value, onChange }: Props) {
  const { problems, readOnly } = useBuilder();
  const list = Array.isArray(value) ? (value as Json[]) : [];
  const what = labelOf(name);
  return (
    <fieldset className={styles.group}>
      <legend>{what}</legend>
      <p className={styles.quiet}>{node.description}</p>
      <ProblemList problems={at(problems, path)} />
      {list.map((one, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a message's place is its name
        <div key={i} className={styles.item}>
          <Fields
            whole
            path={`${path}[${i}]`}
            node={item}
            value={isObject(one) ? one : {}}
            onChange={(next) => onChange(list.map((old, n) => (n === i ? next : old)))}
          />
          {!readOnly && list.length > 1 && (
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Remove ${what} ${i + 1}`}
              onClick={() => onChange(list.filter((_, n) => n !== i))}
            >
              Remove
            </Button>
          )}
        </div>
      ))}
      {!readOnly && list.length < (node.maxItems ?? 32) && (
        <Button
          variant="default"
          size="compact-sm"
          onClick={() => onChange([...list, { role: "user", content: "{{ sample.output_text }}" }])}
        >
          Add a message
        </Button>
      )}
    </fieldset>
  );
}
