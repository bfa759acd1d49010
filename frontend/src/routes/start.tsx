import { JobTable } from "@/features/jobs/JobTable";
import { Start } from "@/features/start/Start";

export function StartRoute() {
  return <Start table={(jobs) => <JobTable label="Newest jobs" jobs={jobs} keys />} />;
}
