import { NativeSelect } from "@mantine/core";
import { NumberText } from "@/components/spec/Control";
import { gated } from "@/lib/grader";
import { isObject, type Json, type JsonObject } from "@/lib/paths";
import { idOf, useBuilder } from "./context";
import styles from "./Grader.module.css";

type Props = {
  name: string;
  others: readonly string[];
  multi: JsonObject;
  onChange: (multi: JsonObject) => void;
};

/** When a part runs: always, or only where a cheaper one scored more than a bound. */
export function GateRow({ name, others, multi, onChange }: Props) {
  const { readOnly } = useBuilder();
  const all = isObject(multi.gates) ? multi.gates : {};
  const gate = isObject(all[name]) ? (all[name] as JsonObject) : null;
  const id = idOf(`gates.${name}`);
  const set = (change: { [key: string]: Json | undefined }) => {
    const next = Object.fromEntries(
      Object.entries({ ...gate, ...change }).filter(([, value]) => value !== undefined),
    ) as JsonObject;
    onChange(gated(multi, name, next));
  };
  const number = (key: "above" | "otherwise", label: string) => (
    <div className={styles.gateNumber}>
      <label htmlFor={`${id}-${key}`}>{label}</label>
      <NumberText
        id={`${id}-${key}`}
        label={`${name}: ${label}`}
        placeholder="0"
        invalid={false}
        disabled={readOnly}
        value={gate?.[key]}
        onChange={(value) => set({ [key]: value })}
      />
    </div>
  );
  return (
    <div className={styles.gate}>
      <NativeSelect
        id={id}
        label="Run"
        disabled={readOnly}
        value={typeof gate?.part === "string" ? gate.part : ""}
        data={[
          { value: "", label: "always" },
          ...others.filter((one) => one !== name).map((one) => ({ value: one, label: `if ${one} scores` })),
        ]}
        onChange={(event) =>
          event.currentTarget.value === ""
            ? onChange(gated(multi, name, null))
            : set({ part: event.currentTarget.value })
        }
      />
      {gate && number("above", "more than")}
      {gate && number("otherwise", "otherwise count")}
    </div>
  );
}
