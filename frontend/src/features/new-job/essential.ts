/** The fields that most jobs need: path, label, explanation. The rest is in the schema. */
export const ESSENTIALS: readonly [string, string, string][] = [
  ["limits.steps", "Steps", "Rounds of sampling, scoring and updating."],
  ["rollout.prompts_per_step", "Prompts per step", "Different rows sampled in each step."],
  [
    "rollout.completions_per_prompt",
    "Completions per prompt",
    "The group G that is compared; at least 2 for most methods.",
  ],
  ["rollout.max_completion_tokens", "Longest completion", "In tokens; what is longer is cut."],
  ["optimizer.learning_rate", "Learning rate", "Larger learns faster and breaks sooner."],
  ["adapter.rank", "LoRA rank", "Size of the adapter: larger holds more and costs memory."],
  [
    "evaluation.every_steps",
    "Evaluate every",
    "Steps between evaluations on held-out rows; 0: only first and last.",
  ],
  ["evaluation.rows", "Rows per evaluation", "Held-out rows used, evenly spread; 0 turns evaluation off."],
];

export const ESSENTIAL: ReadonlySet<string> = new Set(ESSENTIALS.map(([path]) => path));
