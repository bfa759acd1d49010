import { useQuery } from "@tanstack/react-query";
import { useAccess } from "@/api/access";
import { examplesQuery, useStartExample } from "@/api/examples";
import type { JobDetail } from "@/api/jobs";
import { Failure } from "@/components/Failure";
import { SkeletonCard } from "@/components/Skeleton";
import { ExampleCard } from "./ExampleCard";
import styles from "./Examples.module.css";

/** Examples with data, reward and measured result; one press starts one as a job. */
export function ExampleGallery({ onStarted }: { onStarted: (job: JobDetail) => void }) {
  const { refusal } = useAccess();
  const examples = useQuery(examplesQuery);
  const start = useStartExample();
  const list = examples.data?.data;
  if (!list) {
    if (!examples.isError) return <SkeletonCard height={320} label="Loading examples" />;
    return (
      <Failure
        title="Could not load the examples"
        error={examples.error}
        retry={() => void examples.refetch()}
      />
    );
  }
  return (
    <div className={styles.gallery}>
      <ul className={styles.cards}>
        {list.map((example) => (
          <ExampleCard
            key={example.name}
            example={example}
            refusal={refusal}
            busy={start.isPending && start.variables === example.name}
            error={start.variables === example.name ? start.error : null}
            onStart={() => {
              if (!start.isPending) start.mutate(example.name, { onSuccess: onStarted });
            }}
          />
        ))}
      </ul>
      {list.length === 0 && <p>This installation does not include the examples.</p>}
    </div>
  );
}
