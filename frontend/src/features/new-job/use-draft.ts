import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { datasetQuery } from "@/api/datasets";
import { jobQuery } from "@/api/jobs";
import { rewardsQuery } from "@/api/rewards";
import { setAt } from "@/lib/paths";
import { type Draft, datasetOf, EMPTY, fromJob, modelOf, rewardsOf, withDataset, withStored } from "./draft";
import { loadDraft, saveDraft } from "./storage";

/** What the address names: ids alone, so that a link is a start. */
export type Ids = { model?: string; dataset?: string; reward?: string };

const idsOf = (draft: Draft): Ids => ({
  model: modelOf(draft),
  dataset: datasetOf(draft),
  reward: rewardsOf(draft).find((one) => one.reward)?.reward,
});

const sameIds = (a: Ids, b: Ids) => a.model === b.model && a.dataset === b.dataset && a.reward === b.reward;

type Options = { ids: Ids; from: string | undefined; onIds: (ids: Ids) => void };

/**
 * The draft, kept in this browser and its ids in the address. It begins with what was left here, then takes what
 * the address names: another job's specification (`from`), or a model, dataset or reward.
 */
export function useDraft({ ids, from, onIds }: Options) {
  const [restored] = useState(loadDraft);
  const [draft, setDraft] = useState<Draft>(restored?.draft ?? EMPTY);
  const [fromName, setFromName] = useState<string | null>(null);
  const initialIds = useRef(ids);
  const taken = useRef<{ from?: string; dataset?: string; reward?: string }>({});
  const source = useQuery({ ...jobQuery(from ?? ""), enabled: from !== undefined });
  const initial = initialIds.current;
  const dataset = useQuery({
    ...datasetQuery(initial.dataset ?? ""),
    enabled: initial.dataset !== undefined,
  }).data;
  const rewards = useQuery({ ...rewardsQuery, enabled: initial.reward !== undefined }).data?.data;

  useEffect(() => {
    if (!from || source.data?.id !== from || taken.current.from === from) return;
    taken.current.from = from;
    setDraft(fromJob(source.data));
    setFromName(source.data.name);
  }, [from, source.data]);

  useEffect(() => {
    const { model } = initialIds.current;
    if (model) setDraft((old) => (modelOf(old) === model ? old : setAt(old, "model", model)));
  }, []);

  useEffect(() => {
    if (!dataset || taken.current.dataset === dataset.id) return;
    taken.current.dataset = dataset.id;
    setDraft((old) => (datasetOf(old) === dataset.id ? old : withDataset(old, dataset)));
  }, [dataset]);

  useEffect(() => {
    const reward = rewards?.find((one) => one.id === initial.reward);
    if (!reward || taken.current.reward === reward.id) return;
    taken.current.reward = reward.id;
    setDraft((old) =>
      rewardsOf(old).some((one) => one.reward === reward.id)
        ? old
        : withStored({ ...old, rewards: [] }, reward),
    );
  }, [rewards, initial.reward]);

  const waiting = from !== undefined && taken.current.from !== from && !source.isError;
  useEffect(() => {
    if (waiting) return;
    saveDraft(draft);
    const now = idsOf(draft);
    // The address keeps its parameters until the draft has taken them over.
    const pending = initialIds.current;
    const next: Ids = {
      model: now.model,
      dataset: now.dataset ?? (taken.current.dataset ? undefined : pending.dataset),
      reward: now.reward ?? (taken.current.reward ? undefined : pending.reward),
    };
    if (!sameIds(next, ids) || from) onIds(next);
  }, [draft, waiting, ids, from, onIds]);

  const startOver = useCallback(() => {
    initialIds.current = {};
    setFromName(null);
    setDraft(EMPTY);
  }, []);

  return {
    draft,
    change: setDraft,
    startOver,
    /** When the draft that was found here was last changed; null for a fresh one. */
    restoredAt: draft !== EMPTY && restored && Object.keys(restored.draft).length > 1 ? restored.at : null,
    fromError: source.isError ? source.error : null,
    fromName,
  };
}
