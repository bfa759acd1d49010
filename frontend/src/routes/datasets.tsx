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
  const place = one.useSearch();
  const navigate = useNavigate({ from: "/datasets/$id" });
  return (
    <DatasetPage
      key={id}
      id={id}
      place={place}
      onPlace={(change) =>
        void navigate({
          search: (old) => ({ ...old, ...change }),
          resetScroll: false,
          replace: !("tab" in change),
        })
      }
      onDeleted={() => void navigate({ to: "/datasets", ignoreBlocker: true })}
    />
  );
}
