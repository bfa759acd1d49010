import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { NewJob } from "@/features/new-job/NewJob";
import type { Ids } from "@/features/new-job/useDraft";

const route = getRouteApi("/signed-in/jobs/new");

export function NewJobRoute() {
  const { model, dataset, reward, from } = route.useSearch();
  const navigate = useNavigate();
  const ids = useMemo(() => ({ model, dataset, reward }), [model, dataset, reward]);
  const onIds = useCallback(
    (ids: Ids) => void navigate({ to: "/jobs/new", search: ids, replace: true, resetScroll: false }),
    [navigate],
  );
  return (
    <NewJob
      ids={ids}
      from={from}
      onIds={onIds}
      onFrom={(job) => void navigate({ to: "/jobs/new", search: { from: job } })}
      onCreated={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
    />
  );
}
