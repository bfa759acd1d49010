import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Adapter } from "@/api/adapters";
import type { Deployment } from "@/api/deployments";
import { jobListQuery } from "@/api/job-list";
import type { Checkpoint } from "@/api/jobs";
import { modelsQuery } from "@/api/models";
import { reward } from "@/lib/format";
import styles from "./Playground.module.css";
import type { Scoring } from "./use-scoring";

/** `beside`: id of another adapter on the same base model, which answers too. */
export type Place = { model?: string; job?: string; step?: number; deployment?: string; beside?: string };

type Props = {
  place: Place;
  onPlace: (place: Place) => void;
  checkpoints: readonly Checkpoint[] | undefined;
  chosen: Checkpoint | undefined;
  deployments: readonly Deployment[];
  /** Adapters that can answer beside the others. */
  adapters: readonly Adapter[];
  /** The job is given by the screen around: only its checkpoints are to choose from. */
  fixed: boolean;
  scoring: Scoring;
  /** Further controls at the end of the row. */
  children: ReactNode;
};

const described = (one: Checkpoint) =>
  [
    [`step ${one.step}`, one.best ? "best" : "", one.final ? "final" : ""].filter(Boolean).join(", "),
    one.held_out_reward === null ? "" : `held-out ${reward(one.held_out_reward)}`,
    (one.held_out_change?.value ?? 1) <= 0 ? "not better than base" : "",
  ]
    .filter(Boolean)
    .join(" · ");

/** Which weights talk: a base model, and a checkpoint of a job on it. And what scores them. */
export function Pickers(props: Props) {
  const { place, onPlace, checkpoints, chosen, deployments, adapters, fixed, scoring, children } = props;
  const models = useQuery(modelsQuery).data?.data.filter((one) => one.status === "ready") ?? [];
  const jobs = useInfiniteQuery({ ...jobListQuery({}, 50), enabled: !fixed, refetchInterval: false });
  const list = (jobs.data?.pages.flatMap((page) => page.data) ?? []).filter(
    (one) => one.model === place.model && one.started_at,
  );
  return (
    <div className={styles.pickers}>
      {!fixed && (
        <>
          <NativeSelect
            label="Base model"
            value={place.model ?? ""}
            data={[
              ...(place.model ? [] : [{ value: "", label: "Choose a model" }]),
              ...new Set([...models.map((one) => one.id), ...(place.model ? [place.model] : [])]),
            ]}
            onChange={(event) => onPlace({ model: event.currentTarget.value || undefined })}
          />
          <NativeSelect
            label="Job"
            value={place.job ?? ""}
            data={[
              { value: "", label: list.length > 0 ? "None (base only)" : "No jobs with this model yet" },
              ...list.map((one) => ({ value: one.id, label: one.name })),
              ...(place.job && !list.some((one) => one.id === place.job) ? [place.job] : []),
            ]}
            onChange={(event) => onPlace({ model: place.model, job: event.currentTarget.value || undefined })}
          />
          {deployments.length > 0 && (
            <NativeSelect
              label="Deployment"
              value={place.deployment ?? ""}
              data={[
                { value: "", label: "None" },
                ...deployments.map(({ name, state }) => ({
                  value: name,
                  label: state === "ready" ? name : `${name} · ${state}`,
                })),
              ]}
              onChange={(event) => onPlace({ deployment: event.currentTarget.value || undefined })}
            />
          )}
          {adapters.length > 0 && (
            <NativeSelect
              label="Compare with"
              value={place.beside ?? ""}
              data={[
                { value: "", label: "No other adapter" },
                ...adapters.map(({ id, name, step }) => ({ value: id, label: `${name} · step ${step}` })),
              ]}
              onChange={(event) => onPlace({ ...place, beside: event.currentTarget.value || undefined })}
            />
          )}
        </>
      )}
      {place.job && (
        <NativeSelect
          label="Checkpoint"
          value={chosen ? String(chosen.step) : ""}
          data={
            checkpoints?.length
              ? checkpoints.map((one) => ({ value: String(one.step), label: described(one) }))
              : [{ value: "", label: checkpoints ? "None yet" : "Loading" }]
          }
          onChange={(event) => onPlace({ ...place, step: Number(event.currentTarget.value) })}
        />
      )}
      <NativeSelect
        label="Score with"
        title="A reward of this project, run in the sandbox."
        value={scoring.reward}
        data={scoring.options}
        onChange={(event) => scoring.choose(event.currentTarget.value)}
      />
      {children}
    </div>
  );
}
