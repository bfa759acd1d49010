import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { SweepList } from "@/features/sweeps/SweepList";
import { SweepPage } from "@/features/sweeps/SweepPage";

const one = getRouteApi("/signed-in/sweeps/$id");

export function SweepsRoute() {
  return <SweepList />;
}

export function SweepRoute() {
  const { id } = one.useParams();
  const place = one.useSearch();
  const navigate = useNavigate();
  return (
    <SweepPage
      key={id}
      id={id}
      place={place}
      onPlace={(search) =>
        void navigate({ to: "/sweeps/$id", params: { id }, search, replace: true, resetScroll: false })
      }
      onTrial={({ job }) => job && void navigate({ to: "/jobs/$id", params: { id: job } })}
    />
  );
}
