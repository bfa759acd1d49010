import type { RewardTemplate } from "@/api/rewards";

export type TemplateGroup = { name: string; rewards: RewardTemplate[] };

/** Those that hold every word of the query, group by group in the order of the list. */
export function searchTemplates(templates: readonly RewardTemplate[], query: string): TemplateGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const groups: TemplateGroup[] = [];
  for (const reward of templates) {
    const columns = [...(reward.columns ?? []), ...(reward.optional_columns ?? [])];
    const text = [reward.id, reward.title, reward.group, reward.description, ...columns]
      .join(" ")
      .toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const name = reward.group ?? "";
    const last = groups.at(-1);
    if (last?.name === name) last.rewards.push(reward);
    else groups.push({ name, rewards: [reward] });
  }
  return groups;
}

/** Which columns a reward reads, and which of them the dataset lacks; `answer`: the column that is declared as it. */
export function reads(template: RewardTemplate, columns: readonly string[], answer?: string): string {
  const columnsRead = template.columns ?? [];
  const missing = columnsRead.filter((name) => !columns.includes(name));
  const names = (list: readonly string[]) => list.map((name) => `“${name}”`).join(", ");
  if (columnsRead.length === 0) return "Uses no columns.";
  if (columns.length > 0 && missing.length > 0) return `Uses ${names(missing)}, not in the dataset.`;
  const declared = columnsRead.includes("answer") && answer !== undefined && answer !== "answer";
  return declared
    ? `Uses ${names(columnsRead)}: here the column “${answer}”.`
    : `Uses ${names(columnsRead)}.`;
}
