import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { ComparePage } from "@/features/compare/ComparePage";

const route = getRouteApi("/signed-in/compare");

export function CompareRoute() {
  const place = route.useSearch();
  const navigate = useNavigate();
  return (
    <ComparePage
      place={place}
      onPlace={(search) => void navigate({ to: "/compare", search, replace: true, resetScroll: false })}
    />
  );
}
