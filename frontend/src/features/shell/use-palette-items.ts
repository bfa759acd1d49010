import { useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { adaptersQuery } from "@/api/adapters";
import { datasetsQuery } from "@/api/datasets";
import { jobListQuery } from "@/api/job-list";
import { modelsQuery } from "@/api/models";
import { rewardsQuery } from "@/api/rewards";
import { count } from "@/lib/format";
import { arrange, type Item, jobItems, ROOMS, tabsOf } from "./palette-items";

const JOBS = 8;
const TYPING_PAUSE = 120;

type Doing = { onHelp: () => void; onSignOut: () => void };

function useActions({ onHelp, onSignOut }: Doing): Item[] {
  const { refusal } = useAccess();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const themes = (["light", "dark", "auto"] as const).filter((one) => one !== colorScheme);
  const making: Item[] = refusal
    ? []
    : [
        { id: "new-job", group: "Actions", label: "New job", also: "start train", to: "/jobs/new" },
        {
          id: "new-sweep",
          group: "Actions",
          label: "New sweep",
          also: "grid search tune",
          to: "/sweeps/new",
        },
        { id: "upload", group: "Actions", label: "Upload a dataset", also: "add data", to: "/datasets" },
        { id: "new-reward", group: "Actions", label: "New reward", also: "write grader", to: "/rewards/new" },
      ];
  return [
    ...making,
    ...themes.map(
      (theme): Item => ({
        id: `theme-${theme}`,
        group: "Actions",
        label: theme === "auto" ? "System theme" : `${theme === "light" ? "Light" : "Dark"} theme`,
        also: "appearance mode",
        run: () => setColorScheme(theme),
      }),
    ),
    {
      id: "help",
      group: "Actions",
      label: "Show keyboard shortcuts",
      also: "shortcuts help keyboard",
      run: onHelp,
    },
    { id: "sign-out", group: "Actions", label: "Sign out", also: "log out leave", run: onSignOut },
  ];
}

/** Everything that answers to `query`, in groups; `waiting` while jobs are still being looked up. */
export function usePaletteItems(query: string, doing: Doing): { items: Item[]; waiting: boolean } {
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [settled] = useDebouncedValue(query.trim(), TYPING_PAUSE);
  const actions = useActions(doing);
  const jobs = useInfiniteQuery({
    ...jobListQuery({ q: settled || undefined }, JOBS),
    refetchInterval: false,
  });
  const datasets = useQuery(datasetsQuery).data?.data ?? [];
  const rewards = useQuery(rewardsQuery).data?.data ?? [];
  const models = useQuery(modelsQuery).data?.data ?? [];
  const adapters = useQuery(adaptersQuery).data?.data ?? [];
  const items: Item[] = [
    ...tabsOf(path),
    ...actions,
    ...ROOMS,
    ...jobItems(jobs.data?.pages[0]?.data ?? []),
    ...datasets.map(
      ({ id, name, rows }): Item => ({
        id,
        group: "Datasets",
        label: name,
        note: count(rows, "row"),
        also: id,
        to: `/datasets/${id}`,
      }),
    ),
    ...rewards.map(
      ({ id, name }): Item => ({ id, group: "Rewards", label: name, also: id, to: `/rewards/${id}` }),
    ),
    ...models.map(
      ({ id, status }): Item => ({ id, group: "Models", label: id, note: status, to: `/models/${id}` }),
    ),
    ...adapters.map(
      ({ id, name, step, job }): Item => ({
        id,
        group: "Adapters",
        label: name,
        note: `step ${step}`,
        also: id,
        to: `/jobs/${job}?tab=checkpoints`,
      }),
    ),
  ];
  return { items: arrange(query, items), waiting: jobs.isFetching };
}
