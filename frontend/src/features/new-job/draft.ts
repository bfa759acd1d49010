import type { ApiError } from "@/api/client";
import type { Dataset } from "@/api/datasets";
import type { JobSpec } from "@/api/jobs";
import type { BaseModel } from "@/api/models";

/** What the form holds. Numbers are text until they are sent; empty ones take the suggestion. */
export type Draft = {
  name: string;
  dataset: Dataset | null;
  promptTemplate: string;
  reward: string | null;
  /** Source that was dropped or pasted; wins over `reward`. */
  source: string | null;
  model: string | null;
  preset: string;
  steps: string;
  promptsPerStep: string;
  completionsPerPrompt: string;
  maxTokens: string;
  learningRate: string;
};

export const EMPTY: Draft = {
  name: "",
  dataset: null,
  promptTemplate: "",
  reward: null,
  source: null,
  model: null,
  preset: "grpo",
  steps: "",
  promptsPerStep: "",
  completionsPerPrompt: "",
  maxTokens: "",
  learningRate: "",
};

export type NumberKey = "steps" | "promptsPerStep" | "completionsPerPrompt" | "maxTokens" | "learningRate";

/** A model of a few million parameters needs, and stands, larger steps; its context is short. */
const SMALL_PARAMETERS = 50e6;

/** What an empty field stands for, given the model. */
export function suggestions(model: BaseModel | undefined): Record<NumberKey, number> {
  const small = model?.parameters != null && model.parameters < SMALL_PARAMETERS;
  return {
    steps: small ? 60 : 100,
    promptsPerStep: 16,
    completionsPerPrompt: 8,
    maxTokens: small ? 56 : 256,
    learningRate: small ? 6e-4 : 1e-5,
  };
}

const hasPrompt = (dataset: Dataset) =>
  dataset.columns.some((column) => column.name === "messages" || column.name === "prompt");

/** A dataset without `messages` or `prompt` needs a template to make prompts from its columns. */
export const needsTemplate = (draft: Draft) => draft.dataset !== null && !hasPrompt(draft.dataset);

export function numbers(draft: Draft, model: BaseModel | undefined): Record<NumberKey, number> {
  const suggested = suggestions(model);
  const read = (key: NumberKey) => (draft[key].trim() === "" ? suggested[key] : Number(draft[key]));
  return {
    steps: read("steps"),
    promptsPerStep: read("promptsPerStep"),
    completionsPerPrompt: read("completionsPerPrompt"),
    maxTokens: read("maxTokens"),
    learningRate: read("learningRate"),
  };
}

export type FieldErrors = Record<string, string>;

/** What is missing before the server can be asked. Keys are paths of the specification. */
export function missing(draft: Draft, model: BaseModel | undefined): FieldErrors {
  const errors: FieldErrors = {};
  if (!draft.model) errors.model = "Choose the model to train.";
  if (!draft.dataset) errors["data.dataset"] = "Drop a file or choose a dataset.";
  if (needsTemplate(draft) && !draft.promptTemplate.trim()) {
    errors["data.prompt_template"] = "Say how a row becomes a prompt.";
  }
  if (!draft.source && !draft.reward)
    errors["rewards[0]"] = "Drop a .py file, paste code or choose a reward.";
  for (const [key, value] of Object.entries(numbers(draft, model))) {
    if (!Number.isFinite(value)) errors[PARAMS[key as NumberKey]] = "This is not a number.";
  }
  return errors;
}

export const PARAMS: Record<NumberKey, string> = {
  steps: "limits.steps",
  promptsPerStep: "rollout.prompts_per_step",
  completionsPerPrompt: "rollout.completions_per_prompt",
  maxTokens: "rollout.max_completion_tokens",
  learningRate: "optimizer.learning_rate",
};

export function toSpec(draft: Draft, model: BaseModel | undefined): JobSpec {
  const value = numbers(draft, model);
  const origin = draft.source ? { source: draft.source } : { reward: draft.reward };
  return {
    ...(draft.name.trim() ? { name: draft.name.trim() } : {}),
    model: draft.model ?? "",
    data: {
      dataset: draft.dataset?.id ?? "",
      ...(needsTemplate(draft) ? { prompt_template: draft.promptTemplate } : {}),
    },
    rewards: [{ type: "python", ...origin }],
    algorithm: { preset: draft.preset },
    rollout: {
      prompts_per_step: value.promptsPerStep,
      completions_per_prompt: value.completionsPerPrompt,
      max_completion_tokens: value.maxTokens,
    },
    optimizer: { learning_rate: value.learningRate },
    limits: { steps: value.steps },
  };
}

/** The fields of the form, by the path of what they set. */
const FIELDS = [
  "name",
  "model",
  "data.prompt_template",
  "data.dataset",
  "rewards[0]",
  ...Object.values(PARAMS),
];

/** Which field an error belongs to: the longest path that it lies under; `data.…` goes to the dataset. */
export function fieldOf(param: string | null | undefined): string | null {
  if (!param) return null;
  if (param.startsWith("rewards")) return "rewards[0]";
  const found = FIELDS.find((field) => param === field || param.startsWith(`${field}.`));
  return found ?? (param.startsWith("data") ? "data.dataset" : null);
}

/** The server's refusal, told beside the fields that it names. */
export function refusals(error: ApiError): FieldErrors {
  const errors: FieldErrors = {};
  const field = fieldOf(error.param);
  // The envelope's own message names the path, which the place beside the field already says.
  const own = error.errors.find((detail) => detail.param === error.param)?.message ?? error.message;
  if (field) errors[field] = [own, error.hint].filter(Boolean).join(" ");
  for (const detail of error.errors) {
    const other = fieldOf(detail.param);
    if (other) errors[other] ??= detail.message;
  }
  return errors;
}
