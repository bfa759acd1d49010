import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { DatasetPage } from "@/features/datasets/DatasetPage";

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
