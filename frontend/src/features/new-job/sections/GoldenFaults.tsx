import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { goldenQuery } from "@/api/golden";
import type { JobProblem } from "@/api/job-form";
import styles from "@/components/Problems.module.css";
import { expectationText } from "@/lib/expectation";
import { count } from "@/lib/format";

const LONGEST = 80;

/** Golden cases that keep a job from starting: each with its completion, and the way to them. */
export function GoldenFaults({ reward, problems }: { reward: string; problems: readonly JobProblem[] }) {
  const cases = useQuery({ ...goldenQuery(reward), enabled: problems.length > 0 }).data?.data;
  if (problems.length === 0) return null;
  return (
    <div className={styles.problems}>
      <p>
        {count(problems.length, "golden case")} failed. <span>{problems[0]?.hint}</span>{" "}
        <Link to="/rewards/$id" params={{ id: reward }} search={{ tab: "golden" }}>
          Open golden cases
        </Link>
      </p>
      <ul aria-label="Failed golden cases">
        {problems.map(({ code, message }) => {
          const one = cases?.find(({ id }) => id === code);
          return (
            <li key={code}>
              {one && (
                <>
                  {one.note ?? `“${one.completion.slice(0, LONGEST)}”`}, expects {expectationText(one.expect)}
                  :{" "}
                </>
              )}
              {message}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
