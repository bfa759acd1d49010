/** Calls of tools in words. */
import type { Schemas } from "@/api/client";

export type Call = Schemas["CompletionCall"];
export type CallStatus = Call["status"];

export const STATUS: Record<CallStatus, string> = {
  ok: "ok",
  invalid_json: "cannot be read",
  unknown_tool: "no such tool",
  bad_arguments: "wrong arguments",
  exception: "raised an error",
  timeout: "timed out",
  memory: "ran out of memory",
  crashed: "crashed",
  refused_address: "address not allowed",
  unreachable: "server not reached",
  too_many: "one call too many",
};

export type Argument = { name: string; value: string };

/** The arguments of a call by name; strings without quotes. Null if they are not a JSON object. */
export function argumentsOf(text: string): Argument[] | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return Object.entries(value).map(([name, one]) => ({
    name,
    value: typeof one === "string" ? one : JSON.stringify(one),
  }));
}
