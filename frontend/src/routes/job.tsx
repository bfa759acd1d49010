import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { Completions, type Place } from "@/features/completions/Completions";
import { Checkpoints } from "@/features/job/Checkpoints";
import { Config } from "@/features/job/Config";
import { JobPage } from "@/features/job/JobPage";
import { Logs } from "@/features/job/Logs";
import { Overview } from "@/features/job/Overview";

const route = getRouteApi("/signed-in/jobs/$id");

export function JobRoute() {
  const { id } = route.useParams();
  const { tab, step, split, prompt } = route.useSearch();
  const navigate = useNavigate();

  const onPlace = (place: Place) =>
    void navigate({
      to: "/jobs/$id",
      params: { id },
      search: {
        tab,
        step: place.step,
        split: place.split === "held_out" ? "held_out" : undefined,
        prompt: place.prompt,
      },
      replace: true,
      resetScroll: false,
    });
  const onPick = (picked: number) =>
    void navigate({ to: "/jobs/$id", params: { id }, search: { tab: "completions", step: picked } });

  const completions = (
    <Completions job={id} place={{ step, split: split ?? "train", prompt }} onPlace={onPlace} />
  );
  return (
    <JobPage id={id} tab={tab === "overview" ? undefined : tab}>
      {(job, series) => {
        switch (tab) {
          case "completions":
            return completions;
          case "checkpoints":
            return <Checkpoints id={id} />;
          case "logs":
            return <Logs id={id} />;
          case "config":
            return <Config job={job} />;
          default:
            return (
              <>
                <Overview job={job} series={series} onPick={onPick} />
                {completions}
              </>
            );
        }
      }}
    </JobPage>
  );
}
