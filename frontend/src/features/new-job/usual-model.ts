import { useInfiniteQuery } from "@tanstack/react-query";
import { jobListQuery } from "@/api/job-list";
import type { BaseModel } from "@/api/models";

/** The only ready model, else the one of the newest job. */
export function usualModel(
  models: readonly Pick<BaseModel, "id" | "status">[],
  newest: string | undefined,
): string | undefined {
  const ready = models.filter((one) => one.status === "ready");
  return ready.length === 1 ? ready[0]?.id : ready.find((one) => one.id === newest)?.id;
}

/** Undefined where `needed` is false or models or jobs are not loaded. */
export function useUsualModel(models: readonly BaseModel[] | undefined, needed: boolean): string | undefined {
  const jobs = useInfiniteQuery({ ...jobListQuery({}, 1), refetchInterval: false, enabled: needed });
  return needed ? usualModel(models ?? [], jobs.data?.pages[0]?.data[0]?.model) : undefined;
}
