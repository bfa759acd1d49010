import { Button } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { deploymentsQuery } from "@/api/deployments";
import { evaluationsQuery } from "@/api/evaluations";
import styles from "./Start.module.css";
import { Steps } from "./Steps";
import { followUps } from "./steps";

/** What comes after the first job, until it is done or hidden in this browser. */
export function NextSteps({ jobs }: { jobs: number }) {
  const [hidden, setHidden] = useLocalStorage({
    key: "reinforge-next-steps-hidden",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  const evaluations = useInfiniteQuery({ ...evaluationsQuery, enabled: !hidden }).data?.pages[0]?.data;
  const deployments = useQuery({ ...deploymentsQuery, enabled: !hidden }).data?.data;
  if (hidden || !evaluations || !deployments) return null;
  const steps = followUps({ jobs, evaluations: evaluations.length, deployments: deployments.length });
  if (steps.length === 0) return null;
  return (
    <section aria-labelledby="next-steps" className={styles.section}>
      <div className={styles.line}>
        <h2 id="next-steps">Next steps</h2>
        <Button variant="subtle" size="compact-sm" onClick={() => setHidden(true)}>
          Hide
        </Button>
      </div>
      <Steps label="Steps after the first job" steps={steps} mayChange />
    </section>
  );
}
