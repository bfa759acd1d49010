import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { familyQuery } from "@/api/forks";
import { type Job, metricsQuery } from "@/api/jobs";
import { metaQuery } from "@/api/meta";
import { STEPS } from "@/components/chart/axis";
import { Chart } from "@/components/chart/Chart";
import type { ChartColor, ChartLine } from "@/components/chart/model";
import { ChartSpaceProvider } from "@/components/chart/space";
import { StatePill } from "@/components/StatePill";
import { reward, tick } from "@/lib/format";
import { metricHelp } from "@/lib/metric-help";
import { pick, seriesMap } from "../series";
import styles from "./Family.module.css";
import { carriedWords, labels, type Member, treeLines } from "./family-tree";

const COLORS: ChartColor[] = ["c1", "c2", "c3", "c4"];
/** Most distinguishable curves: four colours, solid and dashed. */
const MOST = 2 * COLORS.length;
const HEIGHT = 170;

function Line({ member: { job, depth }, open }: { member: Member; open: string }) {
  const from = job.forked_from;
  const { held_out_reward: now, held_out_reward_before: before } = job;
  return (
    <li style={{ paddingLeft: depth * 22 }}>
      {from && <i aria-hidden="true">└</i>}
      {job.id === open ? (
        <b aria-current="page">{job.name}</b>
      ) : (
        <Link to="/jobs/$id" params={{ id: job.id }}>
          {job.name}
        </Link>
      )}
      <StatePill state={job.status} note={job.verdict_detail?.note} />
      {from && <span title={`Continued: ${carriedWords(from.carried)}`}>from step {from.step}</span>}
      {now != null && (
        <span>
          held-out {before != null && `${reward(before)} → `}
          {reward(now)}
        </span>
      )}
    </li>
  );
}

/** The curves of all members over their steps; a fork's begin where it does. */
function Curves({ jobs }: { jobs: readonly Job[] }) {
  const drawn = jobs.slice(0, MOST);
  const metrics = useQueries({ queries: drawn.map(({ id }) => metricsQuery(id)) });
  const meta = useQuery(metaQuery).data;
  const names = labels(drawn);
  const last = Math.max(1, ...drawn.map(({ progress }) => progress.steps));
  const lines = (key: string, sparse: boolean): ChartLine[] =>
    drawn.map(({ id }, i) => ({
      label: names.get(id) ?? id,
      color: COLORS[i % COLORS.length] ?? "c1",
      dash: i >= COLORS.length,
      sparse,
      source: pick(seriesMap(metrics[i]?.data), key),
    }));
  const shared = { unit: "per step", height: HEIGHT, min: 0, max: 1, format: reward, tick };
  return (
    <ChartSpaceProvider
      value={{
        axis: STEPS,
        lastStep: last,
        current: null,
        range: null,
        smoothing: 0.6,
        log: false,
        sync: "family",
        name: "forks",
        onZoom: () => {},
        onBack: () => {},
        onReset: () => {},
      }}
    >
      <div className={styles.curves}>
        <Chart
          {...shared}
          title="Held-out reward"
          help={metricHelp("held_out/reward_mean", meta)}
          lines={lines("held_out/reward_mean", true)}
          summary="Evaluations of each job. A fork starts with its own evaluation."
        />
        <Chart
          {...shared}
          title="Reward in training"
          help={metricHelp("reward/mean", meta)}
          lines={lines("reward/mean", false)}
          summary="Smoothed by 0.6. Jobs with different rewards are not comparable."
        />
      </div>
    </ChartSpaceProvider>
  );
}

/** The tree of forks and its curves; empty for a job without forks. */
export function Family({ job }: { job: Job }) {
  const tree = treeLines(useQuery(familyQuery(job.id)).data?.data ?? []);
  const jobs = tree.map((member) => member.job);
  if (jobs.length < 2) return null;
  return (
    <section className={styles.family} aria-labelledby="family">
      <h2 id="family">Forks</h2>
      {job.forked_from && (
        <p>
          This job continues from step {job.forked_from.step} of another job, with its{" "}
          {carriedWords(job.forked_from.carried)}; everything else was reset.
        </p>
      )}
      <ul>
        {tree.map((member) => (
          <Line key={member.job.id} member={member} open={job.id} />
        ))}
      </ul>
      <Curves jobs={jobs} />
      {jobs.length > MOST && <p>Only the first {MOST} jobs of the tree are shown.</p>}
    </section>
  );
}
