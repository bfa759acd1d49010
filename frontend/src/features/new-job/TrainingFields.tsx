import { Select, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type BaseModel, modelsQuery } from "@/api/models";
import { Notice } from "@/components/Notice";
import { count, number } from "@/lib/format";
import { type Draft, type FieldErrors, type NumberKey, PARAMS, suggestions } from "./draft";
import styles from "./NewJob.module.css";

type Props = { draft: Draft; errors: FieldErrors; onChange: (change: Partial<Draft>) => void };

const PRESETS = [
  {
    id: "grpo",
    name: "GRPO",
    text: "Each completion is judged against its group: reward minus the group's mean, divided by its spread. The usual start.",
  },
  {
    id: "dr_grpo",
    name: "Dr. GRPO",
    text: "No division by the spread, and every token counts the same. Long wrong answers are not favoured.",
  },
];

const NUMBERS: [NumberKey, string, string][] = [
  ["steps", "Steps", "Rounds of sampling, scoring and updating."],
  ["promptsPerStep", "Prompts per step", "Different prompts sampled in each step."],
  ["completionsPerPrompt", "Completions per prompt", "The group G that is compared; at least 2."],
  ["maxTokens", "Longest completion", "Tokens; what is longer is cut."],
  ["learningRate", "Learning rate", "Larger learns faster and breaks sooner."],
];

export function ModelField({ draft, errors, onChange }: Props) {
  const loaded = useQuery(modelsQuery).data?.data;
  const models = (loaded ?? []).filter((model) => model.status === "ready");
  const label = (model: BaseModel) =>
    model.parameters ? `${model.id} · ${number(model.parameters)} parameters` : model.id;
  return (
    <fieldset className={styles.part}>
      <legend>Base model</legend>
      <p>The weights stay as they are; the job trains a small adapter beside them.</p>
      <Select
        aria-label="Base model"
        placeholder="Choose a model"
        searchable
        value={draft.model}
        error={errors.model}
        data={models.map((model) => ({ value: model.id, label: label(model) }))}
        onChange={(model) => onChange({ model })}
      />
      {loaded && models.length === 0 && (
        <Notice tone="info" title="No model is ready">
          The built-in one appears when a worker has inspected it. Others are added under{" "}
          <Link to="/models">Models</Link>.
        </Notice>
      )}
    </fieldset>
  );
}

export function PresetField({ draft, onChange }: Omit<Props, "errors">) {
  return (
    <fieldset className={styles.part}>
      <legend>Algorithm</legend>
      <div className={styles.presets}>
        {PRESETS.map(({ id, name, text }) => (
          <label key={id} className={styles.preset}>
            <input
              type="radio"
              name="preset"
              value={id}
              checked={draft.preset === id}
              onChange={() => onChange({ preset: id })}
            />
            <b>{name}</b>
            <small>{text}</small>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

export function NumberFields({ draft, errors, onChange, model }: Props & { model: BaseModel | undefined }) {
  const suggested = suggestions(model);
  const group = Number(draft.completionsPerPrompt || suggested.completionsPerPrompt);
  const prompts = Number(draft.promptsPerStep || suggested.promptsPerStep);
  return (
    <fieldset className={styles.part}>
      <legend>Training</legend>
      <p>
        Empty fields take the number shown, suggested for this model.
        {Number.isFinite(group * prompts) && ` A step samples ${count(group * prompts, "completion")}.`}
      </p>
      <div className={styles.numbers}>
        {NUMBERS.map(([key, label, description]) => (
          <TextInput
            key={key}
            label={label}
            description={description}
            inputWrapperOrder={["label", "input", "error", "description"]}
            inputMode="decimal"
            placeholder={key === "learningRate" ? suggested[key].toExponential() : String(suggested[key])}
            value={draft[key]}
            error={errors[PARAMS[key]]}
            onChange={(event) => onChange({ [key]: event.currentTarget.value })}
          />
        ))}
      </div>
    </fieldset>
  );
}
