import { keepPreviousData, queryOptions, useMutation } from "@tanstack/react-query";
import { http, type Schemas, unwrap } from "./client";

export type ToolsCheck = Schemas["ToolsCheckResult"];
export type ToolProblem = Schemas["ToolProblem"];
export type ToolSchema = Schemas["ToolSchema"];
export type ToolRunRequest = Schemas["ToolRun"];
export type ToolRunResult = Schemas["ToolRunResult"];
export type ToolRunCall = Schemas["ToolRunCallResult"];

type CheckBody = Schemas["ToolsCheck"];

/** Schemas of sources, or their problems by line; equal sources are checked once. */
export const toolsCheckQuery = (sources: CheckBody["sources"]) =>
  queryOptions({
    queryKey: ["tools", "check", sources],
    queryFn: ({ signal }) => unwrap(http.POST("/api/v1/tools/check", { body: { sources }, signal })),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    gcTime: 60_000,
    retry: false,
  });

export const runTools = (body: ToolRunRequest, signal?: AbortSignal) =>
  unwrap(http.POST("/api/v1/tools/run", { body, signal }));

/** Runs the calls of one turn in the sandbox of a worker. */
export const useRunTools = () => useMutation({ mutationFn: (body: ToolRunRequest) => runTools(body) });
