import type { NewTracker, Tracker, TrackerChange } from "@/api/trackers";

/** Values of the form; an empty text is none. */
export type TrackerDraft = {
  name: string;
  kind: Tracker["kind"];
  url: string;
  destination: string;
  entity: string;
  username: string;
  /** Empty: none is given, and a stored one stays. */
  key: string;
  everyJob: boolean;
};

export function draftOf(tracker: Tracker | undefined): TrackerDraft {
  return {
    name: tracker?.name ?? "",
    kind: tracker?.kind ?? "wandb",
    url: tracker?.url ?? "",
    destination: tracker?.destination ?? "",
    entity: tracker?.entity ?? "",
    username: tracker?.username ?? "",
    key: "",
    everyJob: tracker?.every_job ?? false,
  };
}

const text = (value: string) => value.trim() || null;

export function toTracker(draft: TrackerDraft): NewTracker {
  const isWandb = draft.kind === "wandb";
  return {
    name: draft.name.trim(),
    kind: draft.kind,
    url: text(draft.url),
    destination: draft.destination.trim(),
    entity: isWandb ? text(draft.entity) : null,
    username: isWandb ? null : text(draft.username),
    api_key: draft.key || null,
    every_job: draft.everyJob,
  };
}

export function toChange(draft: TrackerDraft): TrackerChange {
  const { name: _, kind: __, api_key: key, ...rest } = toTracker(draft);
  return key ? { ...rest, api_key: key } : rest;
}

/** Whether the form has what the kind needs. */
export const isComplete = (draft: TrackerDraft) =>
  [draft.name, draft.destination, draft.kind === "mlflow" ? draft.url : "x"].every(
    (value) => value.trim() !== "",
  );
