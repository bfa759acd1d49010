import { NativeSelect } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { searchQuery } from "@/api/completions";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { count, number } from "@/lib/format";
import { RewardDots } from "../group/RewardDots";
import { type Group, judge, rewardScale } from "../groups";
import type { Go, Pick, Place } from "../place";
import { excerpt } from "../search/hits";
import { visible } from "../text";
import styles from "./Across.module.css";
import { bySteps, choose, pair, type StepOfPrompt } from "./across";
import { DiffView } from "./DiffView";
import { PromptCurve } from "./PromptCurve";

type Props = { job: string; group: Group; place: Place; go: Go };

const PAGE = 1000;
/** Pages that are read by themselves; a prompt with more completions is shown up to there. */
const PAGES = 5;

const PICKS: Record<Pick, string> = { best: "best per step", first: "first sampled per step" };

type RowProps = {
  one: StepOfPrompt;
  pick: Pick;
  scale: readonly [number, number];
  from: boolean;
  to: boolean;
  go: Go;
};

function Row({ one, pick, scale, from, to, go }: RowProps) {
  const chosen = choose(one, pick);
  return (
    <tr>
      <td>
        <input
          type="radio"
          name="from"
          aria-label={`From step ${one.step}`}
          checked={from}
          onChange={() => go({ a: one.step })}
        />
      </td>
      <td>
        <input
          type="radio"
          name="to"
          aria-label={`To step ${one.step}`}
          checked={to}
          onChange={() => go({ b: one.step })}
        />
      </td>
      <th scope="row">
        <button
          type="button"
          title="Open the group of this step"
          onClick={() =>
            go({ view: "group", step: one.step, prompt: one.rows[0]?.prompt_no, sample: undefined }, true)
          }
        >
          {one.step}
        </button>
      </th>
      <td>{number(one.mean)}</td>
      <td>
        <RewardDots rewards={one.rewards} mean={one.mean} scale={scale} />
      </td>
      <td className={styles.sample}>
        <bdi>{chosen ? visible(excerpt(chosen.text, [], 300)) : ""}</bdi>
      </td>
    </tr>
  );
}

/** One prompt over the steps that drew it: its mean reward, a completion of each step, and a comparison of two. */
export function AcrossSteps({ job, group, place, go }: Props) {
  const search = { prompt_hash: group.prompt_hash, split: place.split, sort: "step" as const, limit: PAGE };
  const query = useInfiniteQuery(searchQuery(job, search));
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const pages = data?.pages;
  useEffect(() => {
    if (hasNextPage && !isFetching && (pages?.length ?? 0) < PAGES) void fetchNextPage();
  }, [hasNextPage, isFetching, pages, fetchNextPage]);

  const rows = useMemo(
    () => pages?.flatMap((page) => page.data).filter((row) => row.prompt_hash === group.prompt_hash) ?? [],
    [pages, group.prompt_hash],
  );
  const steps = useMemo(() => bySteps(rows), [rows]);
  const scale = rewardScale(steps.map((one) => judge({ ...group, rewards: one.rewards })));
  const chosen = pair(steps, place.a, place.b);

  if (query.isError && !data)
    return (
      <Failure
        title="Could not load the steps of this prompt"
        error={query.error}
        retry={() => void query.refetch()}
      />
    );
  if (!chosen)
    return query.isPending || query.isPlaceholderData ? (
      <div className={styles.waits} />
    ) : (
      <Empty title="No steps">This prompt has no completions at any step.</Empty>
    );
  const [from, to] = chosen;
  const [before, after] = [choose(from, place.pick), choose(to, place.pick)];
  return (
    <div className={styles.across} aria-busy={query.isPlaceholderData}>
      <PromptCurve steps={steps} scale={scale} from={from.step} to={to.step} />
      <div className={styles.tools}>
        <p>
          {steps.length === 1
            ? "So far, this prompt was sampled at only one step. A comparison needs two."
            : `Sampled at ${count(steps.length, "step")}. Choose two to compare.`}
          {hasNextPage && (pages?.length ?? 0) >= PAGES && ` The first ${rows.length} completions are shown.`}
        </p>
        <NativeSelect
          size="xs"
          aria-label="Completion shown per step"
          value={place.pick}
          onChange={(event) => go({ pick: event.currentTarget.value as Pick })}
          data={(Object.keys(PICKS) as Pick[]).map((value) => ({ value, label: PICKS[value] }))}
        />
      </div>
      <section className={styles.table} aria-label="Steps of this prompt" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">from</th>
              <th scope="col">to</th>
              <th scope="col">step</th>
              <th scope="col">mean</th>
              <th scope="col">rewards</th>
              <th scope="col">{PICKS[place.pick].replace(" of each step", "")}</th>
            </tr>
          </thead>
          <tbody>
            {steps.map((one) => (
              <Row
                key={one.step}
                one={one}
                pick={place.pick}
                scale={scale}
                from={one === from}
                to={one === to}
                go={go}
              />
            ))}
          </tbody>
        </table>
      </section>
      {before && after && from !== to && <DiffView job={job} before={before} after={after} />}
    </div>
  );
}
