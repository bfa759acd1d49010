import { NumberInput, Textarea } from "@mantine/core";
import styles from "./Playground.module.css";
import type { Sampling } from "./useTalk";

type Props = { value: Sampling; onChange: (next: Sampling) => void };

/** How both sides sample: always alike, so that only the weights differ. */
export function Settings({ value, onChange }: Props) {
  const set = (part: Partial<Sampling>) => onChange({ ...value, ...part });
  const number = (key: "temperature" | "maxTokens" | "seed") => (next: string | number) => {
    if (typeof next === "number") set({ [key]: next });
  };
  const order = ["label", "input", "description"] as ("label" | "input" | "description")[];
  return (
    <div className={styles.settings}>
      <NumberInput
        inputWrapperOrder={order}
        label="Temperature"
        description="0 always takes the likeliest token."
        min={0}
        max={10}
        step={0.1}
        clampBehavior="blur"
        value={value.temperature}
        onChange={number("temperature")}
      />
      <NumberInput
        inputWrapperOrder={order}
        label="Longest answer"
        description="In tokens; longer ones are cut."
        min={1}
        max={4096}
        allowDecimal={false}
        clampBehavior="blur"
        value={value.maxTokens}
        onChange={number("maxTokens")}
      />
      <NumberInput
        inputWrapperOrder={order}
        label="Seed"
        description="The same for both sides."
        min={0}
        max={2 ** 31 - 1}
        allowDecimal={false}
        clampBehavior="blur"
        value={value.seed}
        onChange={number("seed")}
      />
      <Textarea
        className={styles.system}
        inputWrapperOrder={order}
        label="System message"
        description="Put before the conversation; empty sends none."
        autosize
        minRows={1}
        maxRows={6}
        value={value.system}
        onChange={(event) => set({ system: event.currentTarget.value })}
      />
    </div>
  );
}
