import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type GoldenCase, type GoldenRun, goldenQuery, goldenRunQuery } from "@/api/golden";
import { Failure } from "@/components/Failure";
import { expectationText } from "@/lib/expectation";
import { count } from "@/lib/format";
import styles from "./ChangeReward.module.css";

const NO_CASES: GoldenCase[] = [];

/** The golden cases of a reward run against one of its revisions, and why it may not take over, if so. */
export function useGoldenGate(reward: string, revision: number | null) {
  const cases = useQuery(goldenQuery(reward));
  const goldenCases = cases.data?.data ?? NO_CASES;
  const options = goldenRunQuery(reward, revision ?? 0, goldenCases);
  const run = useQuery({ ...options, enabled: revision !== null && goldenCases.length > 0 });
  const waits = cases.isPending || (goldenCases.length > 0 && run.isFetching);
  // The server runs them again with the change: a failed request here does not block it.
  const refusal = waits
    ? "The golden cases are still running."
    : run.data && !run.data.passed
      ? "Not all golden cases pass."
      : null;
  return {
    goldenCases,
    waits,
    refusal,
    answer: run.data,
    error: cases.error ?? run.error,
    again: () => void run.refetch(),
  };
}

function Failing({ answer, goldenCases }: { answer: GoldenRun; goldenCases: readonly GoldenCase[] }) {
  const failing = answer.results.filter(({ outcome }) => !outcome.passed);
  return (
    <ul aria-label="Failed golden cases">
      {failing.map(({ case: id, outcome }) => {
        const one = goldenCases.find((golden) => golden.id === id);
        return (
          <li key={id}>
            {one &&
              `${one.note ?? `“${one.completion.slice(0, 80)}”`}, expects ${expectationText(one.expect)}: `}
            {outcome.message}
          </li>
        );
      })}
    </ul>
  );
}

type Props = { reward: string; gate: ReturnType<typeof useGoldenGate> };

/** What the golden cases say of the revision. */
export function GoldenGate({ reward, gate }: Props) {
  const { goldenCases, waits, answer, error, again } = gate;
  const link = (
    <Link to="/rewards/$id" params={{ id: reward }} search={{ tab: "golden" }}>
      Golden cases
    </Link>
  );
  if (waits) return <p role="status">Running the golden cases…</p>;
  if (error) return <Failure title="Could not run the golden cases" error={error} retry={again} />;
  if (goldenCases.length === 0) return <p role="status">{link}: none yet.</p>;
  if (!answer) return null;
  const failed = answer.results.filter(({ outcome }) => !outcome.passed).length;
  return (
    <div role="status" className={styles.golden} data-passed={answer.passed}>
      <p>
        <b>{answer.passed ? `✓ Passes all ${count(goldenCases.length, "golden case")}.` : "✕ Failed."}</b>{" "}
        {answer.load_error ??
          (answer.passed ? "" : `${count(failed, "case")} of ${goldenCases.length} failed.`)}{" "}
        {link}
      </p>
      {failed > 0 && <Failing answer={answer} goldenCases={goldenCases} />}
    </div>
  );
}
