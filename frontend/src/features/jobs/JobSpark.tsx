import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { sparkQuery } from "@/api/job-list";
import type { Job } from "@/api/jobs";
import { Sparkline } from "@/components/Sparkline";
import { reward } from "@/lib/format";
import { describe } from "@/lib/sentence";
import { useSeen } from "@/lib/use-in-view";
import styles from "./JobTable.module.css";

type Props = { job: Job; width?: number; height?: number };

/** The job's reward so far; fetched when it comes into view, and again after progress. */
export function JobSpark({ job, width = 96, height = 24 }: Props) {
  const place = useRef<HTMLSpanElement>(null);
  const inView = useSeen(place);
  const spark = useQuery({ ...sparkQuery(job), enabled: inView && job.progress.step > 0 }).data;
  const words = describe(spark?.train, { up: "Reward up", down: "Reward down", format: reward });
  return (
    <span ref={place} className={styles.spark} style={{ width, height }} title={spark?.train && words}>
      {spark?.train && (
        <Sparkline
          train={spark.train}
          heldOut={spark.heldOut}
          steps={job.progress.steps}
          width={width}
          height={height}
          label={words}
        />
      )}
    </span>
  );
}
