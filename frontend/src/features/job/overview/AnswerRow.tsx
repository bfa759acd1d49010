import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { metaQuery } from "@/api/meta";
import { Change } from "@/components/Change";
import { Help } from "@/components/Help";
import { change, NOTHING, number, percent, reward, signed } from "@/lib/format";
import { metricHelp } from "@/lib/metric-help";
import { courseOf, describe, first, latest } from "@/lib/sentence";
import { equalGroups, groupShares } from "../curves/chart-sentence";
import { isBinary } from "../curves/reward-band";
import { pick, type SeriesMap } from "../series";
import styles from "./Overview.module.css";

type Answer = { title: string; value: string; unit?: string; note: ReactNode };
/** Metrics that explain the tiles; "Useful groups" is 1 minus its metric. */
const ABOUT: Record<string, string> = {
  "Held-out reward": "held_out/reward_mean",
  "Train reward": "reward/mean",
  "Completion length": "completions/length_mean",
  Entropy: "entropy/mean",
  "Useful groups": "groups/zero_variance_share",
  Throughput: "throughput/completions_per_second",
};
const USEFUL = "Groups whose completions score differently; the others are:";

function heldOut(series: SeriesMap): Answer {
  const points = pick(series, "held_out/reward_mean");
  const now = latest(points);
  const base = first(points);
  const title = "Held-out reward";
  if (!now || !base) return { title, value: NOTHING, note: "not evaluated yet" };
  if (now.step === base.step) return { title, value: reward(now.value), note: `base, at step ${now.step}` };
  // Of the rounded numbers: 0.96 over 0.56 is 0.40, whatever their further digits are.
  const gain = Number(now.value.toFixed(2)) - Number(base.value.toFixed(2));
  return {
    title,
    value: reward(now.value),
    note: (
      <>
        <Change value={gain} text={signed(gain)} better="higher" /> vs base {reward(base.value)}
      </>
    ),
  };
}

function trainReward(series: SeriesMap): Answer {
  const title = "Train reward";
  const now = latest(pick(series, "reward/mean"));
  if (now && isBinary(series))
    return {
      title,
      value: reward(now.value),
      note: <Moved series={series} metric="reward/mean" format={reward} />,
    };
  const low = latest(pick(series, "reward/p10"));
  const high = latest(pick(series, "reward/p90"));
  const note = low && high ? `p10–p90 ${reward(low.value)}–${reward(high.value)}` : "after the first step";
  return { title, value: reward(now?.value), note };
}

type MovedProps = {
  series: SeriesMap;
  metric: string;
  format?: (value: number) => string;
  relative?: boolean;
};

/** The change of a metric, without judgement: the numbers of its chart's sentence. */
function Moved({ series, metric, format = number, relative = false }: MovedProps) {
  const points = pick(series, metric);
  const course = courseOf(points);
  if (!course) return "after the first step";
  const [from, to] = [format(course.start), format(course.end)];
  if (!course.clear || from === to) return describe(points, { up: "", down: "", format }).replace(/\.$/, "");
  const share = relative && course.start !== 0 && percent(Math.abs(course.rise / course.start));
  const text = share ? `${course.rise > 0 ? "+" : "−"}${share}` : change(course.rise);
  return (
    <>
      <Change value={course.rise} text={text} /> ({from} to {to})
    </>
  );
}

/** The latest value of a metric with its change. */
function moved(series: SeriesMap, metric: string, title: string, unit: string, relative: boolean): Answer {
  const now = latest(pick(series, metric));
  if (!now) return { title, value: NOTHING, unit, note: "after the first step" };
  return {
    title,
    value: number(now.value),
    unit,
    note: <Moved series={series} metric={metric} relative={relative} />,
  };
}

function usefulGroups(series: SeriesMap): Answer {
  const uniform = latest(pick(series, "groups/zero_variance_share"));
  const above = latest(pick(series, "groups/all_right_share"));
  const value = uniform ? groupShares(uniform.value, above?.value ?? uniform.value)[0] : NOTHING;
  return { title: "Useful groups", value, note: equalGroups(uniform?.value, above?.value) };
}

function throughput(series: SeriesMap): Answer {
  const key = "throughput/completions_per_second";
  const unit = "completions/s";
  const answer = moved(series, key, "Throughput", unit, true);
  return answer.value === NOTHING ? { ...answer, note: "trained completions" } : answer;
}

/** Six numbers that answer "is it working?" without reading a chart. */
export function AnswerRow({ series, live }: { series: SeriesMap; live: boolean }) {
  const answers = [
    heldOut(series),
    trainReward(series),
    moved(series, "completions/length_mean", "Completion length", "tokens", false),
    moved(series, "entropy/mean", "Entropy", "nat", true),
    usefulGroups(series),
    throughput(series),
  ];
  const meta = useQuery(metaQuery).data;
  const helpOf = (title: string) => {
    const help = metricHelp(ABOUT[title] ?? "", meta);
    const text = title === "Useful groups" ? `${USEFUL} ${help?.text}` : help?.text;
    return help && text && <Help title={title} text={text} guide={help.guide} />;
  };
  return (
    <dl className={styles.answers} data-live={live || undefined}>
      {answers.map(({ title, value, unit, note }) => (
        <div key={title} className={styles.answer}>
          <dt>
            {title}
            {helpOf(title)}
          </dt>
          <dd className={styles.value}>
            {value}
            {unit && value !== NOTHING && <small>{unit}</small>}
          </dd>
          <dd className={styles.note}>{note}</dd>
        </div>
      ))}
    </dl>
  );
}
