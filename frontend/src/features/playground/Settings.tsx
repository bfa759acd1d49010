import { NumberInput, Textarea, TextInput } from "@mantine/core";
import styles from "./Playground.module.css";
import type { Sampling } from "./talk";

type Props = {
  value: Sampling;
  onChange: (next: Sampling) => void;
  /** OpenAI's wire ends at 2. */
  hottest: number;
};

/** How both sides sample: always alike, so that only the weights differ. */
export function Settings({ value, onChange, hottest }: Props) {
  const set = (part: Partial<Sampling>) => onChange({ ...value, ...part });
  const number = (key: "temperature" | "topP" | "maxTokens" | "seed") => (next: string | number) => {
    if (typeof next === "number") set({ [key]: next });
  };
  const order = ["label", "input", "description"] as ("label" | "input" | "description")[];
  return (
    <aside id="sampling-settings" className={styles.settings} aria-label="Sampling settings">
      <NumberInput
        inputWrapperOrder={order}
        label="Temperature"
        description="0 selects the most likely token."
        min={0}
        max={hottest}
        step={0.1}
        clampBehavior="blur"
        value={value.temperature}
        onChange={number("temperature")}
      />
      <NumberInput
        inputWrapperOrder={order}
        label="Top p"
        description="1 keeps all tokens."
        min={0.01}
        max={1}
        step={0.05}
        clampBehavior="blur"
        value={value.topP}
        onChange={number("topP")}
      />
      <NumberInput
        inputWrapperOrder={order}
        label="Max tokens"
        description="Longer completions are truncated."
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
        description="Used for all models."
        min={0}
        max={2 ** 31 - 1}
        allowDecimal={false}
        clampBehavior="blur"
        value={value.seed}
        onChange={number("seed")}
      />
      <TextInput
        inputWrapperOrder={order}
        label="Stop sequence"
        description="Sampling stops before this text; \n is a line break."
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        value={value.stop}
        onChange={(event) => set({ stop: event.currentTarget.value })}
      />
      <Textarea
        inputWrapperOrder={order}
        label="System message"
        description="Sent before the conversation. Leave empty for none."
        autosize
        minRows={1}
        maxRows={6}
        value={value.system}
        onChange={(event) => set({ system: event.currentTarget.value })}
      />
    </aside>
  );
}
