export function RewardsRoute() {
  return null;
}
export function NewRewardRoute() {
  return null;
}
export function RewardRoute() {
  return null;
}
