import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { JobList } from "@/features/jobs/JobList";

const route = getRouteApi("/signed-in/jobs");

export function JobsRoute() {
  const filter = route.useSearch();
  const navigate = useNavigate();
  return (
    <JobList
      filter={filter}
      onFilter={(search) => void navigate({ to: "/jobs", search, replace: true, resetScroll: false })}
    />
  );
}
