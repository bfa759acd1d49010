import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { ModelList } from "@/features/models/ModelList";
import { ModelPage } from "@/features/models/ModelPage";

export function ModelsRoute() {
  const navigate = useNavigate();
  return <ModelList onAdded={(id) => void navigate({ to: "/models/$id", params: { id } })} />;
}

const one = getRouteApi("/signed-in/models/$id");

export function ModelRoute() {
  const { id } = one.useParams();
  const navigate = useNavigate();
  return <ModelPage key={id} id={id} onRemoved={() => void navigate({ to: "/models" })} />;
}
