import { ModelList } from "@/features/models/ModelList";

export function ModelsRoute() {
  return <ModelList />;
}
