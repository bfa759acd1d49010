import { queryOptions, useMutation, useQueryClient } from "@tanstack/react-query";
import { http, madeFrom, type Schemas, unwrap } from "./client";

export type Judge = Schemas["JudgeInfo"];
export type NewJudge = Schemas["JudgeCreate"];
export type JudgeChange = Schemas["JudgeChange"];

/** All judges of the project, by name; their keys are never answered. */
export const judgesQuery = queryOptions({
  queryKey: ["judges"],
  queryFn: () => unwrap(http.GET("/api/v1/judges")),
});

/** Changes the judges and asks for their list again. A key that was sent is not kept in the browser. */
function useJudgeChange<In, Out>(change: (input: In) => Promise<Out>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: () => client.invalidateQueries({ queryKey: judgesQuery.queryKey }),
    gcTime: 0,
  });
}

export const useCreateJudge = () =>
  useJudgeChange((body: NewJudge) => unwrap(http.POST("/api/v1/judges", { body })));

/** What is not given stays; `api_key: null` takes the key away. */
export const useChangeJudge = () =>
  useJudgeChange(({ id, etag, ...body }: JudgeChange & { id: string; etag: string }) =>
    unwrap(http.PATCH("/api/v1/judges/{id}", { params: { path: { id }, header: madeFrom(etag) }, body })),
  );

export const useDeleteJudge = () =>
  useJudgeChange((id: string) => unwrap(http.DELETE("/api/v1/judges/{id}", { params: { path: { id } } })));

/** One request to a judge through a worker, like a grader's: a right answer, scored from 0 to 1. */
export const useTryJudge = () =>
  useMutation({
    mutationFn: async (judge: string) => {
      const grader = {
        type: "score_model",
        name: judge,
        model: judge,
        input: [
          {
            role: "user",
            content: "How right is the answer to “2 + 2 =”, from 0 to 1?\n\n{{ sample.output_text }}",
          },
        ],
      };
      const body = { grader, rows: [{ completion: "4" }] };
      const answer = await unwrap(http.POST("/api/v1/rewards/test", { body }));
      return { result: answer.results[0], loadError: answer.load_error };
    },
  });
