import { useNavigate } from "@tanstack/react-router";
import { ExampleGallery } from "@/features/examples/ExampleGallery";
import { JobTable } from "@/features/jobs/JobTable";
import { Start } from "@/features/start/Start";

export function StartRoute() {
  const navigate = useNavigate();
  return (
    <Start
      table={(jobs) => <JobTable label="Newest jobs" jobs={jobs} keys />}
      examples={
        <ExampleGallery onStarted={(job) => void navigate({ to: "/jobs/$id", params: { id: job.id } })} />
      }
    />
  );
}
