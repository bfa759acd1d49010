import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { ModelList } from "@/features/models/ModelList";

const route = getRouteApi("/signed-in/models");

export function ModelsRoute() {
  const { show } = route.useSearch();
  const navigate = useNavigate();
  return <ModelList show={show} onShow={(id) => void navigate({ to: "/models", search: { show: id } })} />;
}
