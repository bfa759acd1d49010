import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { DeploymentList } from "@/features/deployments/DeploymentList";

const route = getRouteApi("/signed-in/deployments");

export function DeploymentsRoute() {
  const place = route.useSearch();
  const navigate = useNavigate();
  return (
    <DeploymentList
      place={place}
      onPlace={(search) => void navigate({ to: "/deployments", search, replace: true, resetScroll: false })}
    />
  );
}
