import { NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { toolNamesQuery } from "@/api/completions";
import { FINISHES } from "@/lib/finishes";
import styles from "./Find.module.css";
import { type Find, OUTCOMES, type Range, readRange, SIGNS, writeRange } from "./find";

type Props = { job: string; find: Find; onFind: (find: Find) => void };

/** Two ends of a range; what is typed counts when the field is left or at Enter. */
function RangeField({
  label,
  range,
  onRange,
}: {
  label: string;
  range: Range | undefined;
  onRange: (range: Range | undefined) => void;
}) {
  const text = (at: 0 | 1) => range?.[at]?.toString() ?? "";
  const [[low, high], setTyped] = useState([text(0), text(1)] as const);
  const rangeText = writeRange(range);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a range from elsewhere replaces what was typed
  useEffect(() => setTyped([text(0), text(1)]), [rangeText]);
  const settle = () => {
    const next = readRange(`${low.replace(",", ".")}..${high.replace(",", ".")}`);
    if (writeRange(next) !== rangeText) onRange(next);
  };
  const onKeyDown = (event: { key: string }) => event.key === "Enter" && settle();
  return (
    <fieldset className={styles.range}>
      <legend>{label}</legend>
      <TextInput
        size="xs"
        inputMode="decimal"
        aria-label={`${label}, minimum`}
        placeholder="from"
        value={low}
        onChange={(event) => setTyped([event.currentTarget.value, high])}
        onBlur={settle}
        onKeyDown={onKeyDown}
      />
      <span aria-hidden="true">–</span>
      <TextInput
        size="xs"
        inputMode="decimal"
        aria-label={`${label}, maximum`}
        placeholder="to"
        value={high}
        onChange={(event) => setTyped([low, event.currentTarget.value])}
        onBlur={settle}
        onKeyDown={onKeyDown}
      />
    </fieldset>
  );
}

type Choice = Readonly<Record<string, string>>;

function ChoiceField({
  label,
  choices,
  value,
  onValue,
}: {
  label: string;
  choices: Choice;
  value: string | undefined;
  onValue: (value: string | undefined) => void;
}) {
  return (
    <NativeSelect
      size="xs"
      label={label}
      value={value ?? ""}
      onChange={(event) => onValue(event.currentTarget.value || undefined)}
      data={[
        { value: "", label: "any" },
        ...Object.entries(choices).map(([one, words]) => ({ value: one, label: words })),
      ]}
    />
  );
}

const FAILED: Choice = { yes: "with reward errors", no: "without reward errors" };
const ROWS: Choice = { train: "training", held_out: "held-out" };

/** Everything that narrows a search besides its words; each takes effect at once. */
export function Filters({ job, find, onFind }: Props) {
  const { data: tools = [] } = useQuery(toolNamesQuery(job));
  const { failed } = find;
  const set = (change: Partial<Find>) => onFind({ ...find, ...change });
  return (
    <div className={styles.filters}>
      <RangeField label="Reward" range={find.reward} onRange={(reward) => set({ reward })} />
      <RangeField label="Step" range={find.steps} onRange={(steps) => set({ steps })} />
      <RangeField label="Tokens" range={find.length} onRange={(length) => set({ length })} />
      <ChoiceField
        label="Advantage"
        choices={SIGNS}
        value={find.adv}
        onValue={(adv) => set({ adv: adv as Find["adv"] })}
      />
      <ChoiceField
        label="Finish reason"
        choices={FINISHES}
        value={find.finish}
        onValue={(finish) => set({ finish: finish as Find["finish"] })}
      />
      <ChoiceField
        label="Rewards"
        choices={FAILED}
        value={failed === undefined ? undefined : failed ? "yes" : "no"}
        onValue={(value) => set({ failed: value === undefined ? undefined : value === "yes" })}
      />
      <ChoiceField
        label="Rows"
        choices={ROWS}
        value={find.in}
        onValue={(rows) => set({ in: rows as Find["in"] })}
      />
      {(tools.length > 0 || find.tool || find.call || find.turns) && (
        <>
          <ChoiceField
            label="Tool"
            choices={Object.fromEntries([...tools, find.tool ?? []].flat().map((name) => [name, name]))}
            value={find.tool}
            onValue={(tool) => set({ tool })}
          />
          <ChoiceField
            label="A call that"
            choices={OUTCOMES}
            value={find.call}
            onValue={(call) => set({ call: call as Find["call"] })}
          />
          <RangeField label="Turns" range={find.turns} onRange={(turns) => set({ turns })} />
        </>
      )}
    </div>
  );
}
