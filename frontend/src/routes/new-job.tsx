import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import type { JobDetail } from "@/api/jobs";
import { ExampleModal } from "@/features/examples/ExampleModal";
import { NewJob } from "@/features/new-job/NewJob";
import type { Ids } from "@/features/new-job/use-draft";

export type NewJobSearch = {
  model?: string;
  dataset?: string;
  reward?: string;
  from?: string;
  preflight?: string;
  /** The gallery of examples is open. */
  examples?: true;
};

const route = getRouteApi("/signed-in/jobs/new");

export function NewJobRoute() {
  const { model, dataset, reward, from, preflight, examples } = route.useSearch();
  const navigate = useNavigate();
  const ids = useMemo(() => ({ model, dataset, reward }), [model, dataset, reward]);
  const onIds = useCallback(
    (ids: Ids) =>
      void navigate({
        to: "/jobs/new",
        search: (old) => ({ ...ids, preflight: old.preflight, examples: old.examples }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
  const onExamples = (opened: boolean) =>
    void navigate({
      to: "/jobs/new",
      search: (old) => ({ ...old, examples: opened || undefined }),
      replace: true,
      resetScroll: false,
    });
  const onCreated = (job: JobDetail) => void navigate({ to: "/jobs/$id", params: { id: job.id } });
  return (
    <NewJob
      ids={ids}
      from={from}
      onIds={onIds}
      onFrom={(job) => void navigate({ to: "/jobs/new", search: { from: job } })}
      preflight={preflight}
      onPreflight={(id) =>
        void navigate({
          to: "/jobs/new",
          search: (old) => ({ ...old, preflight: id }),
          replace: true,
          resetScroll: false,
        })
      }
      onCreated={onCreated}
      onExamples={() => onExamples(true)}
      examples={
        <ExampleModal opened={examples ?? false} onClose={() => onExamples(false)} onStarted={onCreated} />
      }
    />
  );
}
