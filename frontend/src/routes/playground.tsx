import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Page } from "@/components/Page";
import { Playground } from "@/features/playground/Playground";

const route = getRouteApi("/signed-in/playground");

export function PlaygroundRoute() {
  const place = route.useSearch();
  const navigate = useNavigate();
  return (
    <Page title="Playground">
      <Playground
        place={place}
        onPlace={(next) =>
          void navigate({ to: "/playground", search: next, replace: true, resetScroll: false })
        }
      />
    </Page>
  );
}
