import { Link } from "@tanstack/react-router";
import { useCreateReward } from "@/api/rewards";
import { Page } from "@/components/Page";
import { RewardEditor } from "./RewardEditor";

const TEMPLATE = `def grade(sample, item):
    """1 when the reference answer is in the completion, else 0."""
    right = str(item["answer"]) in sample["output_text"]
    return {"score": float(right), "reason": "right" if right else "answer not found"}
`;

export function NewReward({ onCreated }: { onCreated: (id: string) => void }) {
  const create = useCreateReward();
  return (
    <Page
      title="New reward"
      crumbs={[
        <Link key="rewards" to="/rewards">
          Rewards
        </Link>,
        "New reward",
      ]}
    >
      <RewardEditor
        start={{ name: "", source: TEMPLATE }}
        named={false}
        submit="Store the reward"
        busy={create.isPending}
        error={create.error}
        onSubmit={(draft) => create.mutate(draft, { onSuccess: ({ id }) => onCreated(id) })}
      />
    </Page>
  );
}
