import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { NewSweep } from "@/features/new-sweep/NewSweep";

const route = getRouteApi("/signed-in/sweeps/new");

export function NewSweepRoute() {
  const { from } = route.useSearch();
  const navigate = useNavigate();
  return (
    <NewSweep
      from={from}
      onFrom={(job) =>
        void navigate({ to: "/sweeps/new", search: { from: job }, replace: true, resetScroll: false })
      }
      onCreated={({ id }) => void navigate({ to: "/sweeps/$id", params: { id } })}
    />
  );
}
