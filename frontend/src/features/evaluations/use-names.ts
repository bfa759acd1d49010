import { useQuery } from "@tanstack/react-query";
import { adaptersQuery } from "@/api/adapters";

/** Id of an adapter → its name and step. */
export function useAdapterNames(): ReadonlyMap<string, string> {
  const adapters = useQuery(adaptersQuery).data?.data;
  return new Map(adapters?.map(({ id, name, step }) => [id, `${name}, step ${step}`]));
}
