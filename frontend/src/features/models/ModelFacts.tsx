import type { ReactNode } from "react";
import { type BaseModel, ownerOf } from "@/api/models";
import { bytes, count, NOTHING, number, parameters } from "@/lib/format";
import styles from "./Models.module.css";

const tokens = (value: number | null | undefined) => (value ? `${number(value, 6)} tokens` : NOTHING);

function facts(model: BaseModel): [string, ReactNode, string?][] {
  const targets = model.lora_targets ?? [];
  return [
    [
      "Scope",
      ownerOf(model),
      model.shared ? "Only administrators can change or remove it" : "Not visible to other projects",
    ],
    ["Architecture", model.architecture ?? NOTHING],
    ["Parameters", parameters(model.parameters)],
    ["Context", tokens(model.context_length), "Prompt plus completion"],
    ["Vocabulary", tokens(model.vocabulary)],
    [
      "Chat template",
      model.has_chat_template ? (model.chat_template_source ?? "yes") : "none",
      model.has_chat_template
        ? "Messages use the template of the model"
        : "Datasets need a prompt column instead of messages",
    ],
    [
      "LoRA targets",
      targets.length > 0 ? <code key="targets">{targets.join(", ")}</code> : NOTHING,
      targets.length > 0 ? `${count(targets.length, "kind")} of layers that an adapter can train` : undefined,
    ],
    ["Size", bytes(model.bytes)],
    [
      "Estimated memory",
      model.memory?.train ? `${bytes(model.memory.train)} to train an adapter` : NOTHING,
      [
        model.memory?.train_nf4 ? `${bytes(model.memory.train_nf4)} with the base in NF4` : "",
        model.memory?.serve ? `${bytes(model.memory.serve)} to sample 32 completions in parallel` : "",
      ]
        .filter(Boolean)
        .join("; ") || undefined,
    ],
    [
      "Learning rate",
      model.auto_learning_rate ? `auto is ${number(model.auto_learning_rate.value)}` : NOTHING,
      model.auto_learning_rate ? `from the hidden size ${model.auto_learning_rate.hidden_size}` : undefined,
    ],
    ["License", model.licence ?? "not stated: read the model card before use"],
    ["Source", <code key="source">{model.source}</code>],
    [
      "SHA-256",
      model.sha256 ? <code key="sha256">{model.sha256}</code> : NOTHING,
      "Pinned by jobs: an ID always means the same files",
    ],
  ];
}

/** What inspection found out about a base model. */
export function ModelFacts({ model }: { model: BaseModel }) {
  return (
    <dl className={styles.facts}>
      {facts(model).map(([name, value, note]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value}
            {note && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
