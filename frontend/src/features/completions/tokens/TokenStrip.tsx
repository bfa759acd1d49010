import { NativeSelect, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { type Completion, completionQuery } from "@/api/completions";
import { Failure } from "@/components/Failure";
import { branchTitle, conversationOf } from "../group/conversation";
import { MEASURES, type Measure, SCALES, summary, valuesOf } from "./scales";
import { TokenCells } from "./TokenCells";
import styles from "./Tokens.module.css";
import { TokenTable } from "./TokenTable";

type Props = { job: string; row: Completion; measure: Measure; onMeasure: (measure: Measure) => void };

const WHY_NOT: Record<Measure, string> = {
  logprob: "The sampler did not record log-probabilities.",
  entropy: "No entropy: the trainer does not score held-out completions.",
  gap: "No trainer log-probabilities: the trainer skips held-out completions and groups without signal.",
};

function Legend({ measure, foreign }: { measure: Measure; foreign: boolean }) {
  return (
    <ul className={styles.legend} aria-label={`${SCALES[measure].title}, nat`}>
      {SCALES[measure].legend.map((words, i) => (
        <li key={words}>
          <span className={styles.swatch} data-level={i} data-measure={measure} aria-hidden="true" />
          {words}
        </li>
      ))}
      <li>nat</li>
      {measure === "gap" && <li>dashed: lower in the trainer</li>}
      {foreign && <li>grey: not written by the policy, not trained</li>}
    </ul>
  );
}

type BranchProps = {
  completion: Completion | undefined;
  branch: number | null;
  onBranch: (branch: number | null) => void;
};

/** Which conversation of the rollout; nothing where it has one. */
function BranchChoice({ completion, branch, onBranch }: BranchProps) {
  const branches = completion?.branches ?? [];
  if (branches.length === 0) return null;
  return (
    <NativeSelect
      size="xs"
      aria-label="Conversation"
      value={branch ?? ""}
      onChange={({ currentTarget: { value } }) => onBranch(value === "" ? null : Number(value))}
      data={[
        { value: "", label: "Conversation of this completion" },
        ...branches.map((other) => ({ value: `${other.branch}`, label: branchTitle(other) })),
      ]}
    />
  );
}

/** The tokens of a completion as they were sampled (never tokenised again), shaded by one of three measures. */
export default function TokenStrip({ job, row, measure, onMeasure }: Props) {
  const detail = useQuery(completionQuery(job, row));
  const [asTable, setAsTable] = useState(false);
  const [branch, setBranch] = useState<number | null>(null);
  const completion = useMemo(() => detail.data && conversationOf(detail.data, branch), [detail.data, branch]);
  const values = useMemo(() => completion && valuesOf(completion, measure), [completion, measure]);
  const tokens = completion?.tokens ?? [];
  if (detail.isError)
    return <Failure title="Could not load tokens" error={detail.error} retry={() => void detail.refetch()} />;
  if (!completion) return <div className={styles.waiting} role="status" aria-label="Loading tokens" />;
  return (
    <section className={styles.strip} aria-label={`Tokens of completion ${row.sample_no + 1}`}>
      <div className={styles.head}>
        <SegmentedControl
          size="xs"
          aria-label="Color tokens by"
          value={measure}
          onChange={(value) => onMeasure(value as Measure)}
          data={MEASURES.map((value) => ({ value, label: SCALES[value].name }))}
        />
        <BranchChoice completion={detail.data} branch={branch} onBranch={setBranch} />
        <Legend measure={measure} foreign={completion.mask?.includes(false) ?? false} />
        <button
          type="button"
          className={styles.toggle}
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
        >
          table
        </button>
      </div>
      <p className={styles.meaning}>
        {values ? `${SCALES[measure].meaning} ${summary(values, measure)}` : WHY_NOT[measure]}
      </p>
      {tokens.length === 0 ? (
        <p className={styles.meaning}>No tokens recorded for this completion.</p>
      ) : asTable ? (
        <TokenTable completion={completion} />
      ) : (
        <TokenCells completion={completion} values={values} measure={measure} />
      )}
    </section>
  );
}
