import type { RewardProblem } from "@/api/rewards";

export type Problems = readonly RewardProblem[];

/** The message without its leading field name: it appears at the field. */
export const messageOf = ({ message, field }: RewardProblem): string => {
  const text = field && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
  if (text === "Field required") return "Required.";
  if (text === "Extra inputs are not permitted") return `Unknown field ${field?.split(".").at(-1)}.`;
  return text.charAt(0).toUpperCase() + text.slice(1);
};

const inside = (field: string, path: string) =>
  path === "" ? field !== "" : field.startsWith(`${path}.`) || field.startsWith(`${path}[`);

/** Of this very field. */
export const at = (problems: Problems, path: string): Problems =>
  problems.filter(({ field }) => (field ?? "") === path);

/** Of this field or of anything in it. */
export const under = (problems: Problems, path: string): Problems =>
  problems.filter(({ field }) => (field ?? "") === path || inside(field ?? "", path));

/** In this object, but in none of the fields that it has: keys that are not known. */
export const strays = (problems: Problems, path: string, names: readonly string[]): Problems =>
  problems.filter(({ field }) => {
    if (!field || !inside(field, path)) return false;
    const rest = path === "" ? field : field.slice(path.length + 1);
    return !names.includes(rest.split(/[.[]/, 1)[0] as string);
  });
