import { Button, Group, Modal } from "@mantine/core";
import type { ReactNode } from "react";
import { type BaseModel, isLookedAt, ownerOf } from "@/api/models";
import { ButtonLink } from "@/components/ButtonLink";
import { Notice } from "@/components/Notice";
import { StatePill } from "@/components/StatePill";
import { bytes, count, NOTHING, number, parameters } from "@/lib/format";
import styles from "./Models.module.css";
import { ShareModel } from "./ShareModel";

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
      model.memory?.serve ? `${bytes(model.memory.serve)} to sample 32 completions in parallel` : undefined,
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

const PHASES: Record<string, string> = {
  waiting: "Waiting for a worker",
  looking: "Reading the files",
  downloading: "Downloading",
  hashing: "Hashing the files",
};

/** How far a worker is with it. */
function Looking({ progress }: { progress: BaseModel["progress"] }) {
  const { phase = "waiting", done, total } = progress ?? {};
  return (
    <div className={styles.waiting}>
      <progress
        aria-label="Inspection in progress"
        value={total ? (done ?? 0) : undefined}
        max={total ?? undefined}
      />
      <p>
        <span role="status">{PHASES[phase]}</span>
        {total ? `, ${bytes(done)} of ${bytes(total)}` : ""}
      </p>
      <p className={styles.faint}>You can close this dialog. The list shows the progress.</p>
    </div>
  );
}

type Props = {
  model: BaseModel;
  onClose: () => void;
  onRetry?: () => void;
  onRemove?: () => void;
  mayShare?: boolean;
};

/** What inspection found in a base model, or why it failed. */
export function Inspection({ model, onClose, onRetry, onRemove, mayShare }: Props) {
  const failed = model.status === "failed" || model.failure;
  return (
    <Modal opened onClose={onClose} size={640} title={model.id}>
      <div className={styles.found}>
        {isLookedAt(model) && <Looking progress={model.progress} />}
        {failed && (
          <Notice
            tone="bad"
            title={
              model.status === "failed"
                ? "Model not usable"
                : "Last inspection failed; showing earlier results"
            }
            action={
              <Group gap={8}>
                {onRetry && (
                  <Button variant="default" onClick={onRetry}>
                    Inspect again…
                  </Button>
                )}
                {model.status === "failed" && onRemove && (
                  <Button variant="default" onClick={onRemove}>
                    Remove
                  </Button>
                )}
              </Group>
            }
          >
            {model.failure?.message ?? model.error} {model.failure?.hint}
          </Notice>
        )}
        {model.status === "ready" && (
          <div className={styles.head}>
            <StatePill state={model.status} />
            <Group gap={8}>
              {mayShare && !model.shared && <ShareModel model={model} />}
              <ButtonLink to="/jobs/new" search={{ model: model.id }} size="compact-md" variant="default">
                New job
              </ButtonLink>
            </Group>
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
