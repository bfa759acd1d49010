import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Settings } from "@/features/settings/Settings";

const route = getRouteApi("/signed-in/settings");

export function SettingsRoute() {
  const place = route.useSearch();
  const navigate = useNavigate();
  return (
    <Settings
      place={place}
      onPlace={(search) => void navigate({ to: "/settings", search, replace: true, resetScroll: false })}
    />
  );
}
