import type { ApiKey, Role, Scope } from "@/api/keys";
import { date } from "@/lib/format";

export const SCOPE_WORDS: Record<Scope, string> = {
  read: "read everything in the project",
  "data:write": "create and change datasets, rewards, files and models",
  "jobs:write": "run and control jobs, evaluations and deployments",
  inference: "use models and deployments",
  admin: "manage people, keys, budgets, judges and webhooks",
};

/** Role → the scopes that a key of it may have. */
export const SCOPES_OF: Record<Role, readonly Scope[]> = {
  viewer: ["read"],
  editor: ["read", "data:write", "jobs:write", "inference"],
  owner: ["read", "data:write", "jobs:write", "inference", "admin"],
};

const DAY_MS = 86_400_000;
export const MOST_DAYS = 3650;

/** `YYYY-MM-DD` so many days after `now`, in UTC. */
export const dayAfter = (days: number, now = Date.now()) =>
  new Date(now + days * DAY_MS).toISOString().slice(0, 10);

/** Days until a key ends at about this time of a date; null for none, undefined when that is no day to come. */
export function daysUntil(date: string, now = Date.now()): number | null | undefined {
  if (date === "") return null;
  const days = Math.round((Date.parse(date) - Date.parse(dayAfter(0, now))) / DAY_MS);
  return Number.isFinite(days) && days >= 1 && days <= MOST_DAYS ? days : undefined;
}

/** `in 3 d`, `in 5 h`, `expired`; "never" without an end. */
export function endWords(expires: string | null | undefined, now = Date.now()): string {
  if (!expires) return "never";
  const left = Date.parse(expires) - now;
  if (left <= 0) return "expired";
  if (left >= 30 * DAY_MS) return date(expires, now);
  const hours = Math.round(left / 3_600_000);
  return hours >= 48 ? `in ${Math.round(hours / 24)} d` : `in ${Math.max(1, hours)} h`;
}

/** What a key may be used for, in a word or two. */
export const scopeWords = (scopes: readonly Scope[] | null | undefined) =>
  scopes ? scopes.join(", ") : "all scopes of its role";

/** What a key may, in a sentence. */
export const mayWords = (key: Pick<ApiKey, "administrator" | "role" | "scopes">) =>
  key.administrator ? "administrator: manages all projects" : `${key.role}: ${scopeWords(key.scopes)}`;
