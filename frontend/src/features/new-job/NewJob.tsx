import { Button, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { datasetQuery } from "@/api/datasets";
import { type JobDetail, useCreateJob } from "@/api/jobs";
import { modelsQuery } from "@/api/models";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { DatasetField } from "./DatasetField";
import { type Draft, EMPTY, type FieldErrors, missing, refusals, toSpec } from "./draft";
import styles from "./NewJob.module.css";
import { RewardField } from "./RewardField";
import { Summary } from "./Summary";
import { ModelField, NumberFields, PresetField } from "./TrainingFields";

type Props = { dataset: string | undefined; reward: string | undefined; onCreated: (job: JobDetail) => void };

/** One column from prompts to numbers, with the summary beside it; refusals stand under the field they name. */
export function NewJob({ dataset, reward, onCreated }: Props) {
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, reward: reward ?? null });
  const [errors, setErrors] = useState<FieldErrors>({});
  const form = useRef<HTMLFormElement>(null);
  const create = useCreateJob();
  const models = useQuery(modelsQuery).data?.data;
  const model = models?.find((one) => one.id === draft.model);
  const given = useQuery({ ...datasetQuery(dataset ?? ""), enabled: dataset !== undefined }).data;

  const change = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));

  useEffect(() => {
    if (given) setDraft((old) => ({ ...old, dataset: old.dataset ?? given }));
  }, [given]);

  useEffect(() => {
    const ready = models?.filter((one) => one.status === "ready");
    if (ready?.length === 1) setDraft((old) => ({ ...old, model: old.model ?? (ready[0]?.id as string) }));
  }, [models]);

  useEffect(() => {
    if (Object.keys(errors).length === 0) return;
    const first = form.current?.querySelector("[aria-invalid=true], [data-field-error]");
    first?.scrollIntoView({ block: "center" });
    if (first instanceof HTMLElement) first.focus({ preventScroll: true });
  }, [errors]);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const problems = missing(draft, model);
    setErrors(problems);
    if (Object.keys(problems).length > 0) return;
    create.mutate(toSpec(draft, model), {
      onSuccess: onCreated,
      onError: (error) => setErrors(error instanceof ApiError ? refusals(error) : {}),
    });
  };

  const unplaced = create.error && Object.keys(errors).length === 0;
  return (
    <Page
      title="New job"
      crumbs={[
        <Link key="jobs" to="/jobs">
          Jobs
        </Link>,
        "New job",
      ]}
    >
      <form ref={form} className={styles.layout} onSubmit={submit} noValidate>
        <div className={styles.form}>
          <DatasetField draft={draft} errors={errors} onChange={change} />
          <RewardField draft={draft} errors={errors} onChange={change} />
          <ModelField draft={draft} errors={errors} onChange={change} />
          <PresetField draft={draft} onChange={change} />
          <NumberFields draft={draft} errors={errors} onChange={change} model={model} />
          <TextInput
            label="Name"
            description="How the job is listed; made from the dataset and the model when empty."
            value={draft.name}
            error={errors.name}
            maxLength={200}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
        </div>
        <Summary draft={draft} model={model}>
          {unplaced && (
            <Notice tone="bad" title="Not started">
              {create.error.message} {create.error instanceof ApiError ? create.error.hint : null}
            </Notice>
          )}
          {Object.keys(errors).length > 0 && (
            <Notice tone="bad" title="Not started">
              See the marked {Object.keys(errors).length === 1 ? "field" : "fields"}.
            </Notice>
          )}
          <Button type="submit" loading={create.isPending}>
            Start the job
          </Button>
          <p>
            The dataset, the reward and the model are checked on a worker first. Nothing is stored if they
            fail.
          </p>
        </Summary>
      </form>
    </Page>
  );
}
