import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo } from "react";
import { SkeletonCard } from "@/components/Skeleton";
import { BriefCompletions } from "@/features/completions/BriefCompletions";
import { Completions } from "@/features/completions/Completions";
import { type Place, readPlace, writePlace } from "@/features/completions/place";
import { Checkpoints } from "@/features/job/checkpoints/Checkpoints";
import { Config } from "@/features/job/config/Config";
import { toSearch, toView, type View } from "@/features/job/curves/view-state";
import { JobPage } from "@/features/job/JobPage";
import { Logs } from "@/features/job/logs/Logs";
import { Overview } from "@/features/job/overview/Overview";
import { Prompts } from "@/features/job/prompts/Prompts";
import { type PromptsPlace, readPrompts, writePrompts } from "@/features/job/prompts/place";

const route = getRouteApi("/signed-in/jobs/$id");

const Playground = lazy(async () => {
  const { Playground: Component } = await import("@/features/playground/Playground");
  return { default: Component };
});

export function JobRoute() {
  const { id } = route.useParams();
  const search = route.useSearch();
  const { tab } = search;
  const place = readPlace(search);
  const view = useMemo(() => toView(search), [search]);
  const navigate = useNavigate({ from: "/jobs/$id" });

  const go = (change: Partial<Place>, push = false) =>
    void navigate({
      search: (old) => ({ ...old, ...writePlace({ ...readPlace(old), ...change }) }),
      replace: !push,
      resetScroll: false,
    });
  const look = (view: View) =>
    void navigate({
      search: (old) => ({ ...old, ...toSearch(view) }),
      replace: true,
      resetScroll: false,
    });
  const read = (change: Partial<Place>) =>
    void navigate({
      search: (old) => ({ ...old, ...writePlace({ ...readPlace(old), ...change }), tab: "completions" }),
    });

  const list = (prompts: PromptsPlace) =>
    void navigate({
      search: (old) => ({ ...old, ...writePrompts(prompts) }),
      replace: true,
      resetScroll: false,
    });

  const talk = (step: number | undefined) =>
    void navigate({ search: (old) => ({ ...old, try: step }), replace: true, resetScroll: false });

  return (
    <JobPage id={id} tab={tab === "overview" ? undefined : tab}>
      {(job, series) => {
        switch (tab) {
          case "completions":
            return (
              <Completions
                key={id}
                job={id}
                status={job.status}
                rewards={job.reward_names}
                place={place}
                go={go}
              />
            );
          case "prompts":
            return <Prompts job={job} place={readPrompts(search)} onPlace={list} />;
          case "checkpoints":
            return (
              <Checkpoints job={job} trying={search.try} onTry={talk}>
                <Suspense fallback={<SkeletonCard height={480} />}>
                  <Playground
                    fixed
                    place={{ model: job.model, job: id, step: search.try }}
                    onPlace={({ step }) => talk(step)}
                  />
                </Suspense>
              </Checkpoints>
            );
          case "logs":
            return <Logs id={id} />;
          case "config":
            return <Config job={job} />;
          default:
            return (
              <>
                <Overview
                  job={job}
                  series={series}
                  view={view}
                  onView={look}
                  onPick={(step) => read({ step, prompt: undefined, sample: undefined })}
                />
                <BriefCompletions key={id} job={id} status={job.status} place={place} go={go} onRead={read} />
              </>
            );
        }
      }}
    </JobPage>
  );
}
