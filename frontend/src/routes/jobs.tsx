import { JobList } from "@/features/jobs/JobList";

export function JobsRoute() {
  return <JobList />;
}
