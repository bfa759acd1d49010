/** The fields that most jobs need: path, label, explanation. The rest is in the schema. */
export const ESSENTIALS: readonly [string, string, string][] = [
  ["rollout.engine", "Engine", "What samples completions."],
  ["limits.steps", "Steps", "Each step samples, scores and updates once."],
  ["rollout.prompts_per_step", "Prompts per step", "Rows sampled in each step."],
  ["rollout.completions_per_prompt", "Completions per prompt", "Group size G; most methods need at least 2."],
  ["rollout.max_completion_tokens", "Max tokens", "Longer completions are truncated."],
  ["optimizer.learning_rate", "Learning rate", "Higher values learn faster but are less stable."],
  ["adapter.rank", "LoRA rank", "Adapter size: larger ranks have more capacity and use more memory."],
  [
    "evaluation.every_steps",
    "Evaluate every",
    "Steps between held-out evaluations. With 0, only before the first and after the last step.",
  ],
  ["evaluation.rows", "Rows per evaluation", "Held-out rows per evaluation; 0 disables evaluation."],
];

export const ESSENTIAL: ReadonlySet<string> = new Set(ESSENTIALS.map(([path]) => path));
