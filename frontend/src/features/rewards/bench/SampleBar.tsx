import { Button, NumberInput, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { modelsQuery } from "@/api/models";
import { Failure } from "@/components/Failure";
import styles from "./Bench.module.css";
import type { BenchCompletion, Case } from "./bench";
import { useSampling } from "./use-sampling";

type Props = {
  cases: readonly Case[];
  change: (key: string, edit: (old: BenchCompletion[]) => BenchCompletion[]) => void;
};

const BY_DEFAULT = { samples: 2, temperature: 1, maxTokens: 128 };

/** Fills in completions that the base model makes now. */
export function SampleBar({ cases, change }: Props) {
  const models = useQuery(modelsQuery);
  const ready = (models.data?.data ?? []).filter((model) => model.status === "ready");
  const [chosen, setChosen] = useState<string | null>(null);
  const [options, setOptions] = useState(BY_DEFAULT);
  const { start, stop, running, message, error } = useSampling(change);
  const model = chosen ?? ready[0]?.id;
  const promptless = cases.some((one) => one.prompt.length === 0);
  const keep = (name: keyof typeof BY_DEFAULT, low: number, high: number) => (value: number | string) => {
    if (typeof value === "number" && value >= low && value <= high)
      setOptions((old) => ({ ...old, [name]: value }));
  };
  const why = promptless
    ? "These rows have no prompt: select the prompt column on the page of the dataset, or add a prompt to the row."
    : ready.length === 0
      ? "No base model yet."
      : null;
  return (
    <details className={styles.sample}>
      <summary>Sample completions from the base model</summary>
      <div className={styles.picker}>
        <Select
          label="Base model"
          className={styles.dataset}
          data={ready.map((one) => one.id)}
          value={model ?? null}
          onChange={setChosen}
          allowDeselect={false}
        />
        <NumberInput
          label="Per row"
          w={84}
          min={1}
          max={16}
          value={options.samples}
          onChange={keep("samples", 1, 16)}
        />
        <NumberInput
          label="Temperature"
          w={104}
          min={0}
          max={10}
          step={0.1}
          value={options.temperature}
          onChange={keep("temperature", 0, 10)}
        />
        <NumberInput
          label="Max tokens"
          w={112}
          min={1}
          max={4096}
          step={32}
          value={options.maxTokens}
          onChange={keep("maxTokens", 1, 4096)}
        />
        {running ? (
          <Button variant="default" onClick={stop}>
            Stop
          </Button>
        ) : (
          <Button
            variant="default"
            disabled={why !== null || cases.length === 0}
            onClick={() => void start(cases, { ...options, model: model ?? "" })}
          >
            Sample
          </Button>
        )}
      </div>
      <p className={styles.note} role="status">
        {message ?? why}
      </p>
      {error && <Failure title="Sampling is incomplete" error={error} />}
    </details>
  );
}
