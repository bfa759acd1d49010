import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { jobListQuery } from "@/api/job-list";
import { Page } from "@/components/Page";
import { Playground } from "@/features/playground/Playground";

const route = getRouteApi("/signed-in/playground");

export function PlaygroundRoute() {
  const place = route.useSearch();
  const navigate = useNavigate();
  // Opened without a choice: the newest adapter beside its base.
  const open = useRef(Object.values(place).every((value) => value === undefined));
  const jobs = useInfiniteQuery({
    ...jobListQuery({ state: "succeeded" }, 1),
    refetchInterval: false,
    enabled: open.current,
  });
  const newest = jobs.data?.pages[0]?.data[0]?.id;
  useEffect(() => {
    if (!newest || !open.current) return;
    open.current = false;
    void navigate({ to: "/playground", search: { job: newest }, replace: true });
  }, [newest, navigate]);
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
