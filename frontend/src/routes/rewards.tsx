import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { NewReward } from "@/features/rewards/NewReward";
import { RewardList } from "@/features/rewards/RewardList";
import { RewardPage } from "@/features/rewards/RewardPage";

export function RewardsRoute() {
  return <RewardList />;
}

export function NewRewardRoute() {
  const navigate = useNavigate();
  return <NewReward onCreated={(id) => void navigate({ to: "/rewards/$id", params: { id } })} />;
}

const one = getRouteApi("/signed-in/rewards/$id");

export function RewardRoute() {
  const { id } = one.useParams();
  const { revision } = one.useSearch();
  const navigate = useNavigate();
  return (
    <RewardPage
      id={id}
      revision={revision}
      onRevision={(next) => void navigate({ to: "/rewards/$id", params: { id }, search: { revision: next } })}
    />
  );
}
