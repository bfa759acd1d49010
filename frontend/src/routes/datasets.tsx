import { useNavigate } from "@tanstack/react-router";
import { DatasetList } from "@/features/datasets/DatasetList";

export function DatasetsRoute() {
  const navigate = useNavigate();
  return <DatasetList onUploaded={({ id }) => void navigate({ to: "/datasets/$id", params: { id } })} />;
}
