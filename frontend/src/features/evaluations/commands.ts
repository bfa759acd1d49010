import type { Evaluation } from "@/api/evaluations";
import type { Snippet } from "@/components/Snippets";

const shell = (text: string) => (/^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

const viewOptions = ({ prompt_view: view }: Evaluation) => [
  ...Object.entries(view?.columns ?? {}).flatMap(([part, column]) =>
    column ? [`--column ${shell(`${part}=${column}`)}`] : [],
  ),
  ...(view?.prompt_template ? [`--prompt-template ${shell(view.prompt_template)}`] : []),
  ...(view?.system_prompt ? [`--system-prompt ${shell(view.system_prompt)}`] : []),
];

/** Commands that repeat the evaluation and its gate. */
export function commands(one: Evaluation, against: string | undefined): Snippet[] {
  const { settings } = one;
  const weights = one.adapter
    ? `--adapter ${shell(one.adapter)}`
    : one.checkpoint
      ? `--checkpoint ${shell(one.checkpoint)}`
      : `--model ${shell(one.model ?? "")}`;
  const options = [
    weights,
    `--dataset ${shell(one.dataset ?? "")}`,
    `--reward ${one.stored ? shell(`${one.stored}@${one.revision}`) : "reward.py"}`,
    ...viewOptions(one),
    ...(one.name ? [`--name ${shell(one.name)}`] : []),
    ...(settings
      ? [
          `--rows ${settings.rows} --samples ${settings.samples_per_row} --split ${settings.split} --seed ${settings.seed}`,
          ...(settings.split_by === "prompt" ? ["--split-by prompt"] : []),
          ...(settings.held_out_rows == null ? [] : [`--held-out-rows ${settings.held_out_rows}`]),
          `--max-tokens ${settings.max_tokens} --temperature ${settings.temperature} --pass-above ${settings.pass_above}`,
        ]
      : []),
  ];
  const least = (one.summary?.metrics["eval/reward"]?.low ?? 0).toFixed(2);
  const compared = against ? `--baseline ${shell(against)} --max-regression 0.02` : `--min ${least}`;
  return [
    {
      key: "gate",
      title: "Gate",
      about: against
        ? "Exits with status 3 unless the mean reward is at most 0.02 below that of the other, at 95% confidence."
        : "Exits with status 3 unless the mean reward is at least the value of --min, at 95% confidence.",
      text: `reinforge gate ${shell(one.id)} --metric eval/reward ${compared}\n`,
    },
    {
      key: "eval",
      title: "Run again",
      about: "Runs the evaluation, waits and prints its id for the gate.",
      text: `reinforge eval \\\n  ${options.join(" \\\n  ")}\n`,
    },
  ];
}
