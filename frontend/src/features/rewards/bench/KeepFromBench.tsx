import { useKeepGolden } from "@/api/golden";
import KeepGolden from "@/components/golden/KeepGolden";
import { defaultExpectation } from "@/lib/expectation";
import { toastDone } from "@/lib/toast";
import type { Run } from "./bench";

type Props = { reward: string; run: Run; at: number; onClose: () => void };

/** A completion of the test bench becomes a golden case of the reward. */
export default function KeepFromBench({ reward, run, at, onClose }: Props) {
  const keep = useKeepGolden();
  const tested = run.tested[at];
  const result = run.answer.results[at];
  if (!tested || !result) return null;
  const valueAt = (i: number) => {
    const one = run.answer.results[i];
    return one?.status === "ok" ? (one.value ?? null) : null;
  };
  const rivals = run.tested.flatMap((one, i) =>
    i !== at && one.case.key === tested.case.key && one.completion !== tested.completion
      ? [{ text: one.completion, value: valueAt(i) }]
      : [],
  );
  const applies = result.status !== "not_applicable";
  return (
    <KeepGolden
      completion={tested.completion}
      start={defaultExpectation(valueAt(at), { applies, rivals })}
      rivals={rivals.map(({ text }) => text)}
      busy={keep.isPending}
      error={keep.error}
      onClose={onClose}
      onKeep={(expect, note) =>
        keep.mutate(
          {
            reward,
            one: {
              item: { ...tested.case.item },
              prompt: tested.case.prompt,
              completion: tested.completion,
              expect,
              note,
            },
          },
          {
            onSuccess: () => {
              toastDone("Saved as a golden case.");
              onClose();
            },
          },
        )
      }
    />
  );
}
