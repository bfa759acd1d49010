import { Settings } from "@/features/settings/Settings";

export function SettingsRoute() {
  return <Settings />;
}
