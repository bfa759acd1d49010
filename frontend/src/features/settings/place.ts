/** Parts of the settings, in the order of their tabs; the first needs no name in the address. */
export const SETTINGS_TABS = [
  [undefined, "You"],
  ["people", "People"],
  ["keys", "API keys"],
  ["usage", "Usage"],
  ["webhooks", "Webhooks"],
  ["judges", "Judges"],
  ["trackers", "Trackers"],
  ["project", "Project"],
  ["audit", "Audit log"],
] as const;

export type SettingsTab = NonNullable<(typeof SETTINGS_TABS)[number][0]>;

/** `webhook`, `delivery`: whose log is open, and which of its entries. `q`: words looked for in the audit log. */
export type SettingsPlace = { tab?: SettingsTab; webhook?: string; delivery?: string; q?: string };
