import { infiniteQueryOptions } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";
import { jobKeys } from "./jobs";
import type { paths } from "./schema.gen";

export type JobPrompt = Schemas["JobPrompt"];
export type PromptCategory = NonNullable<JobPrompt["category"]>;
type PromptQuery = NonNullable<paths["/api/v1/jobs/{id}/prompts"]["get"]["parameters"]["query"]>;
export type PromptSort = NonNullable<PromptQuery["sort"]>;
export type PromptFilter = Pick<PromptQuery, "split" | "category" | "q" | "sort">;

const PAGE = 50;

/** Prompts over all steps. New steps leave the list as it is until it is asked for again; a rewind does not. */
export const jobPromptsQuery = (id: string, filter: PromptFilter) =>
  infiniteQueryOptions({
    queryKey: [...jobKeys.completions(id), "prompts", filter],
    queryFn: ({ pageParam }) =>
      unwrap(
        http.GET("/api/v1/jobs/{id}/prompts", {
          params: { path: { id }, query: { ...filter, limit: PAGE, after: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    // What was on screen stays until the new arrives, as long as it is of the same job.
    placeholderData: (old, query) => (query?.queryKey[2] === id ? old : undefined),
  });
