import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { jobDefaultsQuery } from "@/api/job-defaults";
import { preflightQuery } from "@/api/preflights";
import { type Basis, type Draft, datasetOf, modelOf } from "../draft";
import { useFields } from "../form";
import { request, type Suggested } from "./suggested";

const TYPING_MS = 400;

/**
 * Suggested values for the draft's model and dataset; the newest ones stay while others are requested. `pending`: the
 * first ones are on their way.
 */
export function useSuggested(
  basis: Basis,
  draft: Draft,
  preflight: string | undefined,
): { suggested: Suggested; pending: boolean } {
  const fields = useFields(basis, draft);
  const spec = useMemo(() => request(basis, draft, fields), [basis, draft, fields]);
  const [typed] = useDebouncedValue(JSON.stringify(spec), TYPING_MS);
  const requested = useMemo(() => JSON.parse(typed) as Draft | null, [typed]);
  const measured = useQuery({ ...preflightQuery(preflight ?? ""), enabled: preflight !== undefined }).data;
  const { data, failureCount } = useQuery({
    ...jobDefaultsQuery(requested ?? {}, measured?.report ? measured.id : undefined),
    enabled: requested !== null,
  });
  const [newest, setNewest] = useState<{ of: string; data: NonNullable<Suggested> } | null>(null);
  if (data && requested && newest?.data !== data) setNewest({ of: subject(requested), data });
  const suggested = newest?.of === subject(draft) ? newest.data : undefined;
  return { suggested, pending: spec !== null && suggested === undefined && failureCount === 0 };
}

const subject = (spec: Draft) => JSON.stringify([modelOf(spec), datasetOf(spec)]);
