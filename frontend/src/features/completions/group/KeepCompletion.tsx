import { useState } from "react";
import type { Completion, CompletionGroup } from "@/api/completions";
import { useKeepGolden } from "@/api/golden";
import KeepGolden from "@/components/golden/KeepGolden";
import { defaultExpectation } from "@/lib/expectation";
import { toastDone } from "@/lib/toast";
import type { StoredReward } from "./stored-rewards";

type Props = {
  job: string;
  group: CompletionGroup;
  row: Completion;
  rewards: readonly StoredReward[];
  onClose: () => void;
};

/** What a reward of the job said about a completion. */
const saidOf = (row: Completion, name: string) => row.rewards?.find((one) => one.name === name);

/** A stored completion becomes a golden case of one of the job's stored rewards. */
export default function KeepCompletion({ job, group, row, rewards, onClose }: Props) {
  const keep = useKeepGolden();
  const [chosen, setChosen] = useState(rewards[0]?.id);
  const reward = rewards.find(({ id }) => id === chosen) ?? rewards[0];
  if (!reward) return null;
  const result = saidOf(row, reward.name);
  const scoreOf = (one: Completion) => {
    const result = saidOf(one, reward.name);
    return result?.status === "ok" ? (result.value ?? null) : null;
  };
  const rivals = group.completions
    .filter((one) => one.sample_no !== row.sample_no && one.text !== row.text)
    .map((one) => ({ text: one.text, value: scoreOf(one) }));
  const messages = group.prompt_messages ?? [];
  return (
    <KeepGolden
      key={reward.id}
      completion={row.text}
      start={defaultExpectation(scoreOf(row), { applies: result?.status !== "not_applicable", rivals })}
      rivals={[...new Set(rivals.map(({ text }) => text))]}
      rewards={rewards}
      reward={reward.id}
      onReward={setChosen}
      busy={keep.isPending}
      error={keep.error}
      onClose={onClose}
      onKeep={(expect, note) =>
        keep.mutate(
          {
            reward: reward.id,
            one: {
              item: group.item ?? {},
              prompt: messages.length > 0 ? messages : group.prompt,
              completion: row.text,
              expect,
              note,
              origin: {
                job,
                split: row.split,
                step: row.step,
                prompt_no: row.prompt_no,
                sample_no: row.sample_no,
              },
            },
          },
          {
            onSuccess: () => {
              toastDone(`Saved as a golden case of “${reward.name}”.`);
              onClose();
            },
          },
        )
      }
    />
  );
}
