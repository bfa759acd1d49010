import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { NewJob } from "@/features/new-job/NewJob";
import type { Ids } from "@/features/new-job/use-draft";

const route = getRouteApi("/signed-in/jobs/new");

export function NewJobRoute() {
  const { model, dataset, reward, from, preflight } = route.useSearch();
  const navigate = useNavigate();
  const ids = useMemo(() => ({ model, dataset, reward }), [model, dataset, reward]);
  const onIds = useCallback(
    (ids: Ids) =>
      void navigate({
        to: "/jobs/new",
        search: (old) => ({ ...ids, preflight: old.preflight }),
        replace: true,
        resetScroll: false,
      }),
    [navigate],
  );
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
      onCreated={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
    />
  );
}
