import { useNavigate } from "@tanstack/react-router";
import type { OpenedFile } from "@/features/rewards/NewReward";
import { RewardList } from "@/features/rewards/RewardList";

declare module "@tanstack/react-router" {
  interface HistoryState {
    /** A `.py` file dropped on the list of rewards: not in the address, but it survives a reload. */
    openedReward?: OpenedFile;
  }
}

export function RewardsRoute() {
  const navigate = useNavigate();
  return (
    <RewardList onFile={(file) => void navigate({ to: "/rewards/new", state: { openedReward: file } })} />
  );
}
