import { useQuery } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { jobQuery } from "@/api/jobs";
import { baseOf, EMPTY } from "./draft";
import { loadDraft, saveDraft } from "./storage";

/** The draft of this browser; the job that the address names replaces its base. */
export function useSweepDraft(from: string | undefined) {
  const [draft, setDraft] = useState(loadDraft);
  const source = useQuery({ ...jobQuery(from ?? ""), enabled: from !== undefined });
  const job = source.data;
  useEffect(() => {
    if (job && job.id === from)
      setDraft((old) => (old.base?.id === job.id ? old : { ...old, base: baseOf(job) }));
  }, [job, from]);
  useEffect(() => saveDraft(draft), [draft]);
  const startOver = useCallback(() => setDraft(EMPTY), []);
  return {
    draft,
    change: setDraft,
    startOver,
    error: source.isError ? source.error : null,
  };
}
