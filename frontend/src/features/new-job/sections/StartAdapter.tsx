import { NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { adaptersQuery, betterThan } from "@/api/adapters";
import { reward } from "@/lib/format";
import { adapterOf } from "../start-adapter";

type Props = {
  /** Id of an adapter or a checkpoint; undefined: the base model. */
  value: string | undefined;
  base: string | undefined;
  disabled: boolean;
  onChange: (model: string) => void;
};

/** Choice of the weights that training starts from. */
export function StartAdapter({ value, base, disabled, onChange }: Props) {
  const adapters = useQuery(adaptersQuery).data?.data ?? [];
  const listed = adapterOf(adapters, value);
  const choices = adapters.filter((one) => base === undefined || one.model === base);
  if (choices.length === 0 && value === undefined) return null;
  return (
    <NativeSelect
      label="Start from"
      description={
        value
          ? "Rank, alpha and targets come from the adapter. Held-out rewards are compared with it, not with the base model."
          : "A new adapter, or one that an earlier job has trained."
      }
      value={value ?? ""}
      disabled={disabled}
      onChange={(event) => onChange(event.currentTarget.value || base || listed?.model || "")}
      data={[
        { value: "", label: "A new adapter" },
        ...choices.map((one) => {
          const best = betterThan(one);
          const score = (best ?? one).held_out_reward;
          const step = one.job ? `, step ${best?.step ?? one.step}` : ", uploaded";
          return {
            value: best?.id ?? one.id,
            label: `${one.name}${step}${score == null ? "" : ` (held-out ${reward(score)})`}`,
          };
        }),
        ...(value && !choices.some((one) => (betterThan(one)?.id ?? one.id) === value)
          ? [{ value, label: listed ? `${listed.name}, step ${listed.step}` : value }]
          : []),
      ]}
    />
  );
}
