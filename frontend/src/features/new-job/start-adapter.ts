import { useQuery } from "@tanstack/react-query";
import { type Adapter, adaptersQuery } from "@/api/adapters";

/** The adapter that the job starts from, by its id or its best checkpoint's. */
export const adapterOf = (adapters: readonly Adapter[], id: string | undefined): Adapter | undefined =>
  id === undefined ? undefined : adapters.find((one) => one.id === id || one.best?.id === id);

export const isStart = (id: string | undefined) => /^(adp_|ftckpt_)/.test(id ?? "");

export function useStartAdapter(id: string | undefined): Adapter | undefined {
  const adapters = useQuery({ ...adaptersQuery, enabled: isStart(id) }).data?.data ?? [];
  return adapterOf(adapters, id);
}
