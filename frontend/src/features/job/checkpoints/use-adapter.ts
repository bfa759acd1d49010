import type { BaseModel } from "@/api/models";

/** What a program outside loads the base model from: a name on the hub, a folder, or words where it is built in. */
export function baseName(model: Pick<BaseModel, "id" | "source"> | undefined, id: string): string {
  if (!model) return id;
  if (model.source.startsWith("hub:")) return model.source.slice(4).replace(/@.*$/, "");
  return model.source.startsWith("builtin:") ? `path/to/${model.id}` : model.source;
}

export type Guide = { key: string; title: string; about: string; text: string };

const quoted = (text: string) => (/^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** How a downloaded adapter is used elsewhere. */
export function guides(base: string, job: string, rank: number): Guide[] {
  return [
    {
      key: "cli",
      title: "Command line",
      about: "Downloads and unpacks the best checkpoint; --final or --step N selects another one.",
      text: `reinforge adapter download ${job} --to adapter\n`,
    },
    {
      key: "peft",
      title: "Python (PEFT)",
      about: "The folder is a standard PEFT adapter.",
      text: [
        "from peft import PeftModel",
        "from transformers import AutoModelForCausalLM, AutoTokenizer",
        "",
        `tokenizer = AutoTokenizer.from_pretrained(${JSON.stringify(base)})`,
        `model = AutoModelForCausalLM.from_pretrained(${JSON.stringify(base)})`,
        'model = PeftModel.from_pretrained(model, "adapter")',
        "",
      ].join("\n"),
    },
    {
      key: "vllm",
      title: "vLLM",
      about: "Serves base and adapter together; the adapter is the model “tuned”.",
      text: `vllm serve ${quoted(base)} --enable-lora --max-lora-rank ${vllmRank(rank)} --lora-modules tuned=adapter\n`,
    },
  ];
}

/** vLLM takes these ranks; the next one that holds ours. */
function vllmRank(rank: number): number {
  return [1, 8, 16, 32, 64, 128, 256, 320, 512].find((one) => one >= rank) ?? rank;
}
