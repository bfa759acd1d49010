/** Why completions end, in words. */
import type { Schemas } from "@/api/client";

export type Finish = Schemas["CompletionRow"]["finish_reason"];

export const FINISHES: Record<Finish, string> = {
  stop: "ended",
  length: "truncated",
  cancelled: "cancelled",
  environment: "ended by the environment",
  max_turns: "all turns used",
  max_tool_calls: "all tool calls used",
  context: "context full",
};
