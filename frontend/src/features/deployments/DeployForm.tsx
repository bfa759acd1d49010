import { Button, Checkbox, Group, Modal, NativeSelect, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { adaptersQuery, isBelowBase } from "@/api/adapters";
import { ApiError } from "@/api/client";
import { type Deployment, useCreateDeployment, usePointDeployment } from "@/api/deployments";
import { type JobDetail, jobQuery } from "@/api/jobs";
import { choicesOf, grouped, targetOf, useChoices } from "@/api/targets";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { reward } from "@/lib/format";
import { useSingleFlight } from "@/lib/single-flight";
import { toastDone } from "@/lib/toast";
import styles from "./Deployments.module.css";
import { suggestedName } from "./snippets";

type Props = {
  /** What was to be deployed where the form was opened from. */
  from?: string;
  /** The job of a checkpoint in `from`. */
  job?: string | undefined;
  /** Its name stays; other weights come behind it. */
  of?: Deployment;
  taken: readonly string[];
  onClose: () => void;
  onDone: (name: string) => void;
};

const hasTools = (job: JobDetail | undefined) => {
  const { environment } = (job?.resolved_spec ?? job?.spec ?? {}) as { environment?: { type?: string } };
  return environment?.type === "tools";
};

/** A new name for weights, or other weights behind a name. */
export function DeployForm({ from, job, of, taken, onClose, onDone }: Props) {
  const choices = useChoices(from ?? of?.checkpoint ?? undefined, job ?? of?.job ?? undefined);
  const [chosen, setChosen] = useState(from ?? of?.adapter ?? of?.checkpoint ?? "");
  const [typed, setTyped] = useState<string>();
  const adapters = useQuery(adaptersQuery).data?.data;
  const create = useCreateDeployment();
  const point = usePointDeployment();
  const once = useSingleFlight();
  const what = chosen || choices?.[0]?.value || "";
  const label = choices?.find(({ value }) => value === what)?.label.split(" · ")[0] ?? "";
  const models = choices?.filter(({ group }) => group === "Base models").map(({ value }) => value) ?? [];
  const about = label.startsWith("Checkpoint ftckpt_") ? "checkpoint" : label;
  const risky = adapters?.find(({ id }) => id === what);
  const offering = adapters?.find((one) => choicesOf(one).some(({ value }) => value === what));
  const source = what === from ? job : what === of?.checkpoint ? of.job : undefined;
  const trainedBy = offering?.job ?? source ?? "";
  const trained = useQuery({ ...jobQuery(trainedBy), enabled: trainedBy !== "" });
  const tools = trainedBy !== "" && hasTools(trained.data);
  const [runs, setRuns] = useState(of ? of.tools !== null : true);
  const run_tools = tools && runs;
  const name = of?.name ?? typed ?? suggestedName(about, [...taken, ...models]);
  const error = create.error ?? point.error;
  const fault = error instanceof ApiError && error.param === "name" ? error : null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const done = () => {
      toastDone(of ? `${of.name} now serves other weights.` : `${name} is loading.`);
      onDone(name);
    };
    void once(() =>
      (of
        ? point.mutateAsync({ id: of.id, etag: of.etag, ...targetOf(what), run_tools })
        : create.mutateAsync({ name, ...targetOf(what), run_tools })
      ).then(done, () => undefined),
    );
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={of ? `Change the weights of ${of.name}` : "New deployment"}
      size={520}
    >
      <form className={styles.form} onSubmit={submit} noValidate>
        <NativeSelect
          label="Weights"
          description={
            of
              ? "Active requests finish with the old weights; new requests use these."
              : "An adapter or a base model. To deploy another checkpoint, open its job."
          }
          data={grouped(choices)}
          value={what}
          disabled={!choices}
          data-autofocus={of ? true : undefined}
          onChange={(event) => setChosen(event.currentTarget.value)}
        />
        {risky && isBelowBase(risky) && (
          <Notice tone="warn" title="Not better than base">
            Its held-out reward is {reward(risky.held_out_reward)}; the base has {reward(risky.base_reward)}.
          </Notice>
        )}
        {tools && (
          <Checkbox
            label="Run the tools of its job"
            description="On: the platform runs tool calls in the sandbox and returns the final message with a trace of the calls. Off: your program runs them."
            checked={runs}
            onChange={(event) => setRuns(event.currentTarget.checked)}
          />
        )}
        {!of && (
          <TextInput
            label="Name"
            description="The “model” value in requests: letters, digits, dots, underscores and dashes."
            required
            autoComplete="off"
            spellCheck={false}
            maxLength={63}
            value={name}
            error={fault && `${fault.message} ${fault.hint ?? ""}`}
            data-autofocus
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        {error && !fault && <Failure title="Could not save the deployment" error={error} />}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={create.isPending || point.isPending}
            disabled={!what || name.trim() === "" || (trainedBy !== "" && trained.isPending)}
          >
            {of ? "Save" : "Deploy"}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
