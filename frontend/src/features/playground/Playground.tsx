import { Button, Checkbox } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { useAccess } from "@/api/access";
import { adaptersQuery } from "@/api/adapters";
import { deploymentsQuery } from "@/api/deployments";
import { checkpointsQuery, jobQuery } from "@/api/jobs";
import { modelsQuery } from "@/api/models";
import { Failure } from "@/components/Failure";
import { getAt, type JsonObject } from "@/lib/paths";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { Pickers, type Place } from "./Pickers";
import styles from "./Playground.module.css";
import { Settings } from "./Settings";
import { type Sampling, type Side, settingsLine, spoken } from "./talk";
import { useJobTools } from "./use-job-tools";
import { type Row, useRows } from "./use-rows";
import { useScoring } from "./use-scoring";
import { type Seat, useTalk } from "./use-talk";

type Props = {
  place: Place;
  onPlace: (place: Place) => void;
  /** Inside a job's page: the job is given. */
  fixed?: boolean;
};

const START: Sampling = { temperature: 1, topP: 1, maxTokens: 256, seed: 0, stop: "", system: "" };

/** A chat with the base and an adapter side by side: same prompts, same seed, so that only the weights differ. */
export function Playground({ place, onPlace, fixed = false }: Props) {
  const [text, setText] = useState("");
  const [row, setRow] = useState<Pick<Row, "answer" | "item"> | null>(null);
  const [settings, { toggle }] = useDisclosure(false);
  const [sampling, setSampling] = useState(START);
  const [remember, setRemember] = useState(true);
  const [automatic, setAutomatic] = useState(false);
  const deployments = useQuery(deploymentsQuery).data?.data ?? [];
  const deployment = deployments.find((one) => one.name === place.deployment);
  const jobId = place.job ?? deployment?.job ?? undefined;
  const job = useQuery({ ...jobQuery(jobId ?? ""), enabled: jobId !== undefined });
  const list = useQuery({ ...checkpointsQuery(place.job ?? ""), enabled: place.job !== undefined });
  const models = useQuery(modelsQuery).data?.data;
  const modelId =
    deployment?.model ?? place.model ?? job.data?.model ?? models?.find((one) => one.status === "ready")?.id;
  const model = models?.find((one) => one.id === modelId);
  const checkpoints = place.job === undefined ? undefined : list.data?.data;
  const chosen =
    checkpoints?.find((one) => one.step === place.step) ??
    (place.step === undefined ? (checkpoints?.find((one) => one.best) ?? checkpoints?.[0]) : undefined);
  const adapters = useQuery(adaptersQuery).data?.data.filter((one) => one.model === modelId) ?? [];
  const other = adapters.find(({ id }) => id === place.beside);
  const tools = useJobTools(job.data, automatic);
  const talk = useTalk(modelId, tools.of);
  const rows = useRows(job.data);
  const scoring = useScoring(job.data);
  const { refusal } = useAccess();

  // A job's own settings are the ones that its rewards were measured with.
  const trained = (job.data?.resolved_spec ?? job.data?.spec) as JsonObject | undefined;
  useEffect(() => {
    const longest = getAt(trained, "rollout.max_completion_tokens");
    const system = getAt(trained, "data.system_prompt");
    setSampling((old) => ({
      ...old,
      maxTokens: typeof longest === "number" ? Math.min(longest, 4096) : old.maxTokens,
      system: typeof system === "string" ? system : old.system,
    }));
  }, [trained]);

  const seats = useMemo<Seat[]>(
    () => [
      { side: "base", by: "Base", checkpoint: null },
      ...(place.deployment !== undefined
        ? [{ side: "adapter" as const, by: place.deployment, checkpoint: null, deployment: place.deployment }]
        : chosen
          ? [{ side: "adapter" as const, by: `Adapter, step ${chosen.step}`, checkpoint: chosen.id }]
          : []),
      ...(other
        ? [{ side: "second" as const, by: `${other.name}, step ${other.step}`, checkpoint: other.checkpoint }]
        : []),
    ],
    [chosen, place.deployment, other],
  );
  const names: [Side, string][] = seats.map(({ side, by }) => [side, by]);
  // Without a chat template there are no turns to tell apart: each prompt is its own.
  const several = model?.has_chat_template !== false;

  const send = () => {
    const asking = { prompt: text, answer: row?.answer ?? null, item: row?.item ?? null };
    talk.send({ ...asking, alone: !several || !remember }, seats, sampling);
    setText("");
    setRow(null);
  };
  const runCalls = (side: Side) => {
    const seat = seats.find((one) => one.side === side);
    if (seat) talk.runCalls(seat, sampling);
  };
  const takeRow = async (step: number) => {
    const taken = await rows.take(step);
    if (!taken) return;
    talk.clear(taken.before);
    setText(taken.prompt);
    setRow(taken);
  };

  return (
    <div className={styles.playground}>
      <Pickers
        place={{ ...place, model: modelId }}
        onPlace={onPlace}
        checkpoints={checkpoints}
        chosen={chosen}
        deployments={deployments}
        adapters={adapters}
        fixed={fixed}
        scoring={scoring}
      >
        <div className={styles.toggle}>
          <Button
            variant="default"
            aria-expanded={settings}
            aria-controls="sampling-settings"
            onClick={toggle}
          >
            {settings ? "Hide settings" : "Settings"}
          </Button>
          <small>{settingsLine(sampling)}</small>
        </div>
      </Pickers>
      {job.isError && <Failure title="Could not load the job" error={job.error} />}
      {tools.error && (
        <Failure title="Could not load the tools of the job" error={tools.error} retry={tools.retry} />
      )}
      {list.isError && (
        <Failure title="Could not load checkpoints" error={list.error} retry={() => void list.refetch()} />
      )}
      <div className={styles.body} data-settings={settings || undefined}>
        {settings && (
          <Settings
            value={sampling}
            onChange={setSampling}
            hottest={place.deployment === undefined ? 10 : 2}
          />
        )}
        <div className={styles.talk}>
          <p role="status" className="visually-hidden">
            {spoken(talk.turns.at(-1))}
          </p>
          <Conversation
            before={talk.before}
            turns={talk.turns}
            names={names}
            reward={scoring.reward}
            onRun={tools.of && refusal === null ? runCalls : undefined}
          />
          <Composer
            value={text}
            onChange={(next) => {
              setText(next);
              setRow(null);
            }}
            onSend={send}
            onStop={talk.stop}
            busy={talk.busy}
            refusal={refusal ?? (modelId ? null : "Choose a base model first.")}
            label={talk.turns.length > 0 && several && remember ? "Next message" : "Prompt"}
          >
            {rows.total > 0 && (
              <Button
                variant="default"
                loading={rows.busy}
                disabled={talk.busy}
                onClick={() => void takeRow(talk.turns.length === 0 && text === "" ? 0 : 1)}
              >
                Insert held-out row
              </Button>
            )}
            {tools.of && (
              <Checkbox
                label="Run calls automatically"
                checked={automatic}
                onChange={(event) => setAutomatic(event.currentTarget.checked)}
              />
            )}
            {talk.turns.length > 0 && (
              <>
                {several && (
                  <Checkbox
                    label="Include conversation"
                    checked={remember}
                    onChange={(event) => setRemember(event.currentTarget.checked)}
                  />
                )}
                <Button
                  variant="default"
                  disabled={talk.busy || refusal !== null}
                  onClick={() => talk.again(seats, sampling)}
                >
                  Sample again
                </Button>
                <Button variant="default" onClick={() => talk.clear()}>
                  New conversation
                </Button>
              </>
            )}
          </Composer>
          <p role="status" className={styles.note}>
            {rows.problem ??
              (row?.answer
                ? `Held-out row ${rows.place + 1} of ${rows.total}; reference answer: ${row.answer}.`
                : !several
                  ? "This model has no chat template: prompts are independent."
                  : talk.turns.length > 0 && remember && jobId
                    ? "Training used single prompts. To match it, do not include the conversation."
                    : "")}
          </p>
        </div>
      </div>
    </div>
  );
}
