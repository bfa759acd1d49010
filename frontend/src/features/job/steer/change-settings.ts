import type { JobSetting, NewValue } from "@/api/job-changes";
import type { Json } from "@/lib/paths";
import { isWrong } from "../forks/fork-body";

/** What a person wants to change; null while one of the fields holds no number. */
export function changedSettings(
  settings: readonly JobSetting[],
  values: Readonly<Record<string, Json | undefined>>,
): NewValue[] | null {
  if (settings.some(({ setting }) => isWrong(values[setting]))) return null;
  return settings.flatMap(({ setting, value: now }) => {
    const value = values[setting];
    return typeof value === "number" && value !== now ? [{ setting, value }] : [];
  });
}
