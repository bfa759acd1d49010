import { useState } from "react";
import type { SweepDetail, SweepTrial } from "@/api/sweeps";
import { reward } from "@/lib/format";
import { axesOf } from "./axes";
import styles from "./Sweeps.module.css";
import { shortPath } from "./trials";

const [WIDTH, HEIGHT, TOP, SIDE] = [960, 260, 40, 90];

type Props = { sweep: SweepDetail; onTrial: (trial: SweepTrial) => void };

/** Parallel coordinates: a line per trial over the varied settings to its held-out reward. */
export function ParallelPlot({ sweep, onTrial }: Props) {
  const [near, setNear] = useState<number | null>(null);
  const measured = sweep.trials.filter(({ objective }) => objective !== null);
  if (measured.length < 2)
    return <p className={styles.none}>Lines appear once two jobs have a held-out reward.</p>;
  const axes = axesOf(sweep.varied, measured);
  const reached = axes[axes.length - 1];
  const x = (n: number) => SIDE + (n * (WIDTH - 2 * SIDE)) / Math.max(1, axes.length - 1);
  const y = (share: number) => TOP + (1 - share) * HEIGHT;
  const line = (trial: SweepTrial) =>
    axes
      .map((axis, n) => [x(n), axis.at(trial)] as const)
      .flatMap(([left, share]) => (share === null ? [] : [`${left},${y(share)}`]))
      .join(" ");
  const chosen = measured.find(({ number }) => number === near);
  return (
    <section className={styles.parallel} aria-label="Parallel coordinates" tabIndex={0}>
      <svg
        viewBox={`0 0 ${WIDTH} ${TOP + HEIGHT + 24}`}
        role="img"
        aria-label="Settings and held-out reward of each job"
      >
        {measured.map((trial) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has the same links
          <polyline
            key={trial.number}
            className={styles.line}
            points={line(trial)}
            style={{ "--share": reached?.at(trial) ?? 0 } as React.CSSProperties}
            data-near={near === trial.number || undefined}
            onPointerEnter={() => setNear(trial.number)}
            onPointerLeave={() => setNear(null)}
            onClick={() => onTrial(trial)}
          />
        ))}
        {axes.map((axis, n) => (
          <g key={axis.path} className={styles.axis} data-last={n === axes.length - 1 || undefined}>
            <line x1={x(n)} x2={x(n)} y1={TOP} y2={TOP + HEIGHT} />
            <text x={x(n)} y={18} textAnchor="middle" data-head>
              {shortPath(axis.path, sweep.varied)}
            </text>
            {axis.ticks.map((tick) => (
              <text key={tick.label} x={x(n) + 8} y={y(tick.at) + 4}>
                {tick.label}
              </text>
            ))}
          </g>
        ))}
      </svg>
      <p aria-live="polite">
        {chosen
          ? `${chosen.name}${chosen.seed === null ? "" : `, seed ${chosen.seed}`}: ${reward(chosen.objective)}`
          : "One line per job; stronger lines have a higher held-out reward."}
      </p>
    </section>
  );
}
