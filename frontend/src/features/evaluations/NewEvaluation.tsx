import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { useAccess } from "@/api/access";
import { adaptersQuery } from "@/api/adapters";
import { datasetsQuery } from "@/api/datasets";
import { type Evaluation, evaluationQuery, useStartEvaluation } from "@/api/evaluations";
import { type JobDetail, jobQuery } from "@/api/jobs";
import { rewardsQuery } from "@/api/rewards";
import { grouped, useChoices } from "@/api/targets";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { Skeleton } from "@/components/Skeleton";
import { count } from "@/lib/format";
import type { JsonObject } from "@/lib/paths";
import { useSingleFlight } from "@/lib/single-flight";
import {
  asInJob,
  bodyOf,
  completions,
  type Draft,
  EMPTY,
  faultOf,
  isAsInJob,
  jobOfWeights,
  like,
  NUMBERS,
  type NumberName,
} from "./draft";
import styles from "./Evaluations.module.css";

type Start = { from?: string; job?: string; dataset?: string; reward?: string; like?: string };
type Props = { start: Start; onStarted: (id: string) => void };

const SPLITS = [
  { value: "all", label: "All rows" },
  { value: "held_out", label: "Held-out rows" },
  { value: "train", label: "Training rows" },
];
const ALWAYS: NumberName[] = ["rows", "samples_per_row", "max_tokens", "pass_above"];
const SAMPLING: NumberName[] = ["temperature", "top_p", "seed"];

type FormProps = {
  begin: Draft;
  /** The job of the weights that the link names. */
  linked: string | undefined;
  onStarted: (id: string) => void;
};

/** The specification that a job ran with. */
const specOf = (job: JobDetail) => (job.resolved_spec ?? job.spec) as JsonObject;

function Form({ begin, linked, onStarted }: FormProps) {
  const { refusal } = useAccess();
  const [draft, setDraft] = useState(begin);
  const choices = useChoices(begin.what || undefined, linked);
  const datasets = useQuery(datasetsQuery).data?.data ?? [];
  const rewards = useQuery(rewardsQuery).data?.data ?? [];
  const adapters = useQuery(adaptersQuery).data?.data ?? [];
  const jobId = jobOfWeights(draft.what, draft.what === begin.what ? linked : undefined, adapters);
  const job = useQuery({ ...jobQuery(jobId ?? ""), enabled: jobId !== undefined }).data;
  const start = useStartEvaluation();
  const once = useSingleFlight();
  const fault = faultOf(draft);
  const set = (part: Partial<Draft>) => setDraft((old) => ({ ...old, ...part }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (fault) return;
    void once(() =>
      start.mutateAsync(bodyOf(draft)).then(
        ({ id }) => onStarted(id),
        () => undefined,
      ),
    );
  };
  const field = (name: NumberName) => {
    const [label, description, min, max, step] = NUMBERS[name];
    return (
      <NumberInput
        key={name}
        label={label}
        description={description}
        min={min}
        max={max}
        step={step}
        allowDecimal={step < 1}
        clampBehavior="blur"
        value={draft.numbers[name]}
        onChange={(next) =>
          set({ numbers: { ...draft.numbers, [name]: typeof next === "number" ? next : "" } })
        }
      />
    );
  };
  return (
    <form className={styles.form} onSubmit={submit} noValidate>
      <NativeSelect
        label="Model"
        description="An adapter or a base model. To evaluate another checkpoint, open its job."
        data={[{ value: "", label: "Choose" }, ...grouped(choices)]}
        value={draft.what}
        disabled={!choices}
        onChange={(event) => set({ what: event.currentTarget.value })}
      />
      {job && (
        <div className={styles.hint}>
          <span>
            {isAsInJob(draft, specOf(job))
              ? "Held-out rows, prompts and reward are those of "
              : "Trained by "}
            <Link to="/jobs/$id" params={{ id: job.id }}>
              {job.name}
            </Link>
            .
          </span>
          {!isAsInJob(draft, specOf(job)) && (
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => setDraft((old) => asInJob(old, specOf(job)))}
            >
              Use the held-out rows of the job
            </Button>
          )}
        </div>
      )}
      <NativeSelect
        label="Dataset"
        description={
          draft.view
            ? "Prompt settings are copied from the source job or evaluation."
            : "Prompt settings are those saved with the dataset."
        }
        data={[
          { value: "", label: datasets.length > 0 ? "Choose" : "No dataset yet" },
          ...datasets.map(({ id, name, rows }) => ({ value: id, label: `${name} · ${count(rows, "row")}` })),
        ]}
        value={draft.dataset}
        onChange={(event) => set({ dataset: event.currentTarget.value, view: null })}
      />
      <NativeSelect
        label="Reward"
        description="Scores every completion."
        data={[
          { value: "", label: rewards.length > 0 ? "Choose" : "No saved reward yet" },
          ...rewards.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={draft.reward}
        onChange={(event) => set({ reward: event.currentTarget.value, revision: "" })}
      />
      <div className={styles.two}>
        <NativeSelect
          label="Split"
          description="The split equals that of a job with the same seed."
          data={SPLITS}
          value={draft.split}
          onChange={(event) => set({ split: event.currentTarget.value as Draft["split"] })}
        />
        {draft.split !== "all" && field("held_out_rows")}
        {draft.split !== "all" && (
          <Checkbox
            label="Keep duplicate prompts in one split"
            description="Use the same setting as the job."
            checked={draft.together}
            onChange={(event) => set({ together: event.currentTarget.checked })}
          />
        )}
        {ALWAYS.map(field)}
      </div>
      <details className={styles.more}>
        <summary>Sampling and name</summary>
        <div className={styles.two}>
          {SAMPLING.map(field)}
          <TextInput
            label="Stop sequence"
            description="Sampling stops before this text; \n is a line break."
            maxLength={200}
            spellCheck={false}
            value={draft.stop}
            onChange={(event) => set({ stop: event.currentTarget.value })}
          />
          <TextInput
            label="Name"
            description="Gates use the newest evaluation with this name. Example: main."
            maxLength={100}
            value={draft.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
          />
        </div>
      </details>
      {start.error && <Failure title="Could not start the evaluation" error={start.error} />}
      <div className={styles.head}>
        <p role="status" className={styles.rest}>
          {fault ?? `At most ${count(completions(draft), "completion")}.`}
          {draft.revision && ` Revision ${draft.revision} of the reward.`}
        </p>
        <GatedButton refusal={refusal} type="submit" loading={start.isPending} disabled={fault !== null}>
          Start evaluation
        </GatedButton>
      </div>
    </form>
  );
}

/** The form as it opens: like another evaluation, else for the weights of the link with the held-out rows of their job. */
function useBegin(start: Start, again: Evaluation | undefined): Draft | undefined {
  const { from = "", dataset, reward } = start;
  const adapters = useQuery({ ...adaptersQuery, enabled: from !== "" });
  const jobId = jobOfWeights(from, start.job, adapters.data?.data ?? []);
  const job = useQuery({ ...jobQuery(jobId ?? ""), enabled: jobId !== undefined });
  if (start.like !== undefined) return again && like(again);
  const plain = { ...EMPTY, what: from, dataset: dataset ?? "", reward: reward ?? "" };
  const waits = (from !== "" && adapters.isPending) || (jobId !== undefined && job.isPending);
  if (waits) return undefined;
  return job.data && dataset === undefined && reward === undefined ? asInJob(plain, specOf(job.data)) : plain;
}

/** What is sampled on which rows, and what scores it. */
export function NewEvaluation({ start, onStarted }: Props) {
  const again = useQuery({ ...evaluationQuery(start.like ?? ""), enabled: start.like !== undefined });
  const begin = useBegin(start, again.data);
  const crumbs = [
    <Link key="all" to="/evaluations">
      Evaluations
    </Link>,
  ];
  return (
    <Page title="New evaluation" crumbs={crumbs}>
      {again.isError && <Failure title="Could not load the evaluation" error={again.error} />}
      {begin ? (
        <Form key={start.like} begin={begin} linked={start.job} onStarted={onStarted} />
      ) : (
        !again.isError && <Skeleton height={240} />
      )}
    </Page>
  );
}
