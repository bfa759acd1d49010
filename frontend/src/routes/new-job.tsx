import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { NewJob } from "@/features/new-job/NewJob";

const route = getRouteApi("/signed-in/jobs/new");

export function NewJobRoute() {
  const { dataset, reward } = route.useSearch();
  const navigate = useNavigate();
  return (
    <NewJob
      dataset={dataset}
      reward={reward}
      onCreated={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })}
    />
  );
}
