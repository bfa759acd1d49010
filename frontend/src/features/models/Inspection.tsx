import { Button, Modal } from "@mantine/core";
import type { ReactNode } from "react";
import type { BaseModel } from "@/api/models";
import { ButtonLink } from "@/components/ButtonLink";
import { Notice } from "@/components/Notice";
import { StatePill } from "@/components/StatePill";
import { bytes, count, NOTHING, number, parameters } from "@/lib/format";
import styles from "./Models.module.css";

const tokens = (value: number | null | undefined) => (value ? `${number(value, 6)} tokens` : NOTHING);

function facts(model: BaseModel): [string, ReactNode, string?][] {
  const targets = model.lora_targets ?? [];
  return [
    ["Architecture", model.architecture ?? NOTHING],
    ["Parameters", parameters(model.parameters)],
    ["Context", tokens(model.context_length), "Prompt and completion together"],
    ["Vocabulary", tokens(model.vocabulary)],
    [
      "Chat template",
      model.has_chat_template ? (model.chat_template_source ?? "yes") : "none",
      model.has_chat_template
        ? "Messages are written as the model was taught"
        : "Datasets need a prompt column, not messages",
    ],
    [
      "LoRA targets",
      targets.length > 0 ? <code key="targets">{targets.join(", ")}</code> : NOTHING,
      targets.length > 0 ? `${count(targets.length, "kind")} of layers an adapter can train` : undefined,
    ],
    ["Size", bytes(model.bytes)],
    ["Licence", model.licence ?? "not stated: read the model's card before you use it"],
    ["Source", <code key="source">{model.source}</code>],
    [
      "SHA-256",
      model.sha256 ? <code key="sha256">{model.sha256}</code> : NOTHING,
      "Jobs pin it: the same id stays the same model",
    ],
  ];
}

type Props = { model: BaseModel; onClose: () => void; onRetry?: () => void };

/** What inspection found in a base model, or why it failed. */
export function Inspection({ model, onClose, onRetry }: Props) {
  const failed = model.status === "failed";
  return (
    <Modal opened onClose={onClose} size={640} title={model.id}>
      <div className={styles.found}>
        {failed ? (
          <Notice
            tone="bad"
            title="Not usable"
            action={
              onRetry && (
                <Button variant="default" onClick={onRetry}>
                  Inspect again…
                </Button>
              )
            }
          >
            {model.error}
          </Notice>
        ) : (
          <div className={styles.head}>
            <StatePill state={model.status} />
            <ButtonLink to="/jobs/new" search={{ model: model.id }} size="compact-md" variant="default">
              New job
            </ButtonLink>
          </div>
        )}
        <dl>
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
      </div>
    </Modal>
  );
}
