import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useAccess } from "@/api/access";
import type { JobDetail } from "@/api/jobs";
import { toolsCheckQuery } from "@/api/tools";
import type { JsonObject } from "@/lib/paths";
import { environmentOf } from "./tool-steps";
import type { JobTools } from "./use-talk";

/** The tools of a job with environment `tools`, as its model reads them; `of` is null for all others. */
export function useJobTools(job: JobDetail | undefined, automatic: boolean) {
  const spec = (job?.resolved_spec ?? job?.spec) as JsonObject | undefined;
  const environment = useMemo(() => environmentOf(spec), [spec]);
  const { refusal } = useAccess();
  const check = useQuery({
    ...toolsCheckQuery(environment?.sources ?? []),
    enabled: environment !== null && refusal === null,
  });
  const schemas = check.data?.tools;
  const of = useMemo<JobTools | null>(
    () =>
      environment && schemas ? { environment, schemas: schemas.map(({ tool }) => tool), automatic } : null,
    [environment, schemas, automatic],
  );
  return { of, error: environment ? check.error : null, retry: () => void check.refetch() };
}
