import { Button, Group, Modal, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { startsQuery, useForkJob } from "@/api/forks";
import { changesQuery } from "@/api/job-changes";
import { jobFormQuery } from "@/api/job-form";
import type { JobDetail } from "@/api/jobs";
import { rewardsQuery } from "@/api/rewards";
import { Failure } from "@/components/Failure";
import { NumberText } from "@/components/spec/Control";
import type { Json, JsonObject } from "@/lib/paths";
import { valueText } from "@/lib/spec-values";
import styles from "../steer/ChangeSettings.module.css";
import { EMPTY, type ForkDraft, forkBody, isWrong, valueAt } from "./fork-body";

const NUMBERS = [
  ["optimizer.learning_rate", "Learning rate"],
  ["rollout.temperature", "Temperature"],
  ["limits.steps", "Total steps"],
] as const;

type Props = { job: JobDetail; step: number | null; onClose: () => void };

/** A new job from a step of this one: the same, or with another algorithm, reward or learning rate. */
export function ForkJob({ job, step, onClose }: Props) {
  const opened = step !== null;
  const presets = useQuery({ ...jobFormQuery, enabled: opened }).data?.presets ?? [];
  const rewards = useQuery({ ...rewardsQuery, enabled: opened }).data?.data ?? [];
  const start = useQuery({ ...startsQuery(job.id), enabled: opened }).data?.data.find(
    (one) => one.step === step,
  );
  const changes = useQuery({ ...changesQuery(job.id), enabled: opened }).data?.data ?? [];
  const [draft, setDraft] = useState<ForkDraft>(EMPTY);
  const fork = useForkJob(job.id);
  const navigate = useNavigate();
  const spec = (job.resolved_spec ?? job.spec) as JsonObject;
  const body = step === null ? null : forkBody(step, draft, job.reward_names[0] ?? "reward");
  const close = () => {
    setDraft(EMPTY);
    fork.reset();
    onClose();
  };
  const number = (path: string, value: Json | undefined) =>
    setDraft((old) => ({ ...old, numbers: { ...old.numbers, [path]: value } }));

  return (
    <Modal opened={opened} onClose={close} title={`New job from step ${step}`} size="lg">
      <p className={styles.about}>
        The new job starts with the adapter after step {step}
        {start?.whole
          ? ", and with the optimizer and algorithm state where the changes below allow it"
          : "; the optimizer is reset, because its state is stored for the newest steps only"}
        . This job does not change. Empty fields keep the values of this job.
      </p>
      <TextInput
        label="Name"
        placeholder={`${job.name}, from step ${step}`}
        value={draft.name}
        onChange={(event) => setDraft({ ...draft, name: event.currentTarget.value })}
        mb="sm"
      />
      <NativeSelect
        label="Algorithm"
        value={draft.preset}
        onChange={(event) => setDraft({ ...draft, preset: event.currentTarget.value })}
        data={[
          { value: "", label: `unchanged: ${job.preset_title ?? "custom algorithm"}` },
          ...presets.map(({ id, title }) => ({ value: id, label: title })),
        ]}
        mb="sm"
      />
      {job.reward_names.length === 1 && (
        <NativeSelect
          label="Reward"
          value={draft.reward}
          onChange={(event) => setDraft({ ...draft, reward: event.currentTarget.value })}
          data={[
            { value: "", label: `unchanged: ${job.reward_names[0]}` },
            ...rewards.map(({ id, name }) => ({ value: id, label: `${name}, newest revision` })),
          ]}
          mb="sm"
        />
      )}
      {NUMBERS.map(([path, label]) => (
        <div key={path} className={styles.row}>
          <label htmlFor={`fork-${path}`}>{label}</label>
          <code>{path}</code>
          <NumberText
            id={`fork-${path}`}
            label={label}
            placeholder={valueText(valueAt(spec, changes, path, step ?? 0))}
            value={draft.numbers[path]}
            invalid={isWrong(draft.numbers[path])}
            disabled={false}
            onChange={(value) => number(path, value)}
          />
        </div>
      ))}
      {fork.error && <Failure title="Could not create the job" error={fork.error} />}
      <Group justify="flex-end" mt="md" gap={8}>
        <Button variant="default" onClick={close}>
          Back
        </Button>
        <Button
          disabled={body === null}
          loading={fork.isPending}
          onClick={() =>
            body &&
            fork.mutate(body, {
              onSuccess: (made) => {
                close();
                void navigate({ to: "/jobs/$id", params: { id: made.id } });
              },
            })
          }
        >
          Start job
        </Button>
      </Group>
    </Modal>
  );
}
