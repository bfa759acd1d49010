import { getRouteApi, useLocation, useNavigate } from "@tanstack/react-router";
import type { BenchSession } from "@/features/rewards/bench/session";
import { NewReward } from "@/features/rewards/NewReward";
import type { RewardPlace } from "@/features/rewards/place";
import { RewardPage } from "@/features/rewards/RewardPage";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** Samples and scores of a reward that has just been saved. */
    benchSession?: BenchSession;
  }
}

const fresh = getRouteApi("/signed-in/rewards/new");

export function NewRewardRoute() {
  const place = fresh.useSearch();
  const opened = useLocation({ select: ({ state }) => state.openedReward });
  const navigate = useNavigate({ from: "/rewards/new" });
  const onPlace = (change: Partial<RewardPlace>) =>
    void navigate({
      search: ({ dataset, rows, grader }) => ({ dataset, rows, grader, ...change }),
      state: (old) => old,
      replace: true,
      resetScroll: false,
    });
  const onCreated = (id: string, session: BenchSession) =>
    void navigate({
      to: "/rewards/$id",
      params: { id },
      search: place,
      state: { benchSession: session },
      ignoreBlocker: true,
    });
  return <NewReward opened={opened} place={place} onPlace={onPlace} onCreated={onCreated} />;
}

const one = getRouteApi("/signed-in/rewards/$id");

export function RewardRoute() {
  const { id } = one.useParams();
  const place = one.useSearch();
  const navigate = useNavigate({ from: "/rewards/$id" });
  const onPlace = (change: Partial<RewardPlace>) =>
    void navigate({
      search: (old) => ({ ...old, ...change }),
      state: (old) => old,
      replace: true,
      resetScroll: false,
    });
  const session = useLocation({ select: ({ state }) => state.benchSession });
  return <RewardPage key={id} id={id} place={place} onPlace={onPlace} session={session} />;
}
