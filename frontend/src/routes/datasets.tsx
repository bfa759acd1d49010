import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { DatasetList } from "@/features/datasets/DatasetList";
import { DatasetPage } from "@/features/datasets/DatasetPage";

export function DatasetsRoute() {
  const navigate = useNavigate();
  return <DatasetList onUploaded={({ id }) => void navigate({ to: "/datasets/$id", params: { id } })} />;
}

const one = getRouteApi("/signed-in/datasets/$id");

export function DatasetRoute() {
  const { id } = one.useParams();
  const { offset = 0 } = one.useSearch();
  const navigate = useNavigate();
  return (
    <DatasetPage
      id={id}
      offset={offset}
      onOffset={(at) =>
        void navigate({
          to: "/datasets/$id",
          params: { id },
          search: { offset: at || undefined },
          resetScroll: false,
        })
      }
      onDeleted={() => void navigate({ to: "/datasets" })}
    />
  );
}
