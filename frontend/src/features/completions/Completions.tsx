import { SegmentedControl } from "@mantine/core";
import { lazy, Suspense, useEffect, useMemo, useRef } from "react";
import { isFinal, type JobStatus } from "@/api/jobs";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { SkeletonCard } from "@/components/Skeleton";
import { count } from "@/lib/format";
import { useShortcuts } from "@/lib/shortcuts";
import { AcrossSteps } from "./across-steps/AcrossSteps";
import styles from "./Completions.module.css";
import { CompletionsSkeleton } from "./CompletionsSkeleton";
import { GroupView } from "./group/GroupView";
import { PromptList } from "./group/PromptList";
import { onlyThese, opening } from "./groups";
import { NoCompletions } from "./NoCompletions";
import type { Go, Place } from "./place";
import { SplitSwitch } from "./SplitSwitch";
import { StepScrubber } from "./StepScrubber";
import { chips, type Find, NO_FIND } from "./search/find";
import { HitBar } from "./search/HitBar";
import { terms } from "./search/hits";
import { Results } from "./search/Results";
import { SearchBar } from "./search/SearchBar";
import { useHits } from "./search/use-hits";
import { neighbour } from "./steps";
import { useStep } from "./use-step";

const LabelMode = lazy(() => import("./label/LabelMode"));

type Props = {
  job: string;
  status: JobStatus;
  /** Names of the job's rewards. */
  rewards: readonly string[];
  place: Place;
  go: Go;
};

/** The completions of a job: by step and prompt side by side, one prompt over steps, or found by a search. */
export function Completions({ job, status, rewards, place, go }: Props) {
  const live = !isFinal(status);
  const view = useStep(job, live, place);
  const { groups, steps, shownStep, at, missing, query } = view;
  const field = useRef<HTMLInputElement>(null);
  const searching = place.view === "results";
  const labelling = place.view === "label";
  const hits = useHits(job, place.find, searching || chips(place.find).length > 0);
  const words = useMemo(() => terms(place.find.q), [place.find.q]);
  const listed = onlyThese(groups, place.only);
  const group = groups.find((one) => one.prompt_no === place.prompt) ?? opening(listed) ?? groups[0];
  const here =
    shownStep !== undefined && group && place.sample !== undefined
      ? { split: place.split, step: shownStep, prompt_no: group.prompt_no, sample_no: place.sample }
      : undefined;
  const onHit = hits.isNarrowed && here !== undefined && hits.indexOf(here) >= 0;

  const onStep = (step: number) => go({ step, sample: undefined });
  const onNewest = (follow: boolean) => {
    view.release();
    go({ step: undefined, follow, sample: undefined });
  };
  const onFind = (find: Find) => go({ find, view: "results" }, !searching);
  const endSearch = () => go({ find: NO_FIND, view: "group" }, true);
  const by = (way: 1 | -1) => {
    const next = at === undefined ? undefined : neighbour(steps, at, way);
    return next === undefined ? undefined : () => onStep(next);
  };
  const toggleSteps = () => go({ view: place.view === "steps" ? "group" : "steps" }, true);
  useShortcuts("completions", {
    n: searching || labelling ? undefined : by(1),
    p: searching || labelling ? undefined : by(-1),
    d: searching || labelling || !group ? undefined : toggleSteps,
    g: place.view === "group" ? undefined : () => go({ view: "group", sample: undefined }, true),
    "/": () => field.current?.focus(),
  });
  // What was found leads elsewhere: the head of the room comes back into view with the results.
  useEffect(() => {
    if (searching) field.current?.scrollIntoView({ block: "nearest" });
  }, [searching]);

  return (
    <section aria-label="Completions">
      <div className={styles.head}>
        <h2>Completions</h2>
        {groups.length > 0 && !searching && !labelling && (
          <small>
            {count(
              groups.reduce((sum, one) => sum + (one.rewards?.length ?? 0), 0),
              "completion",
            )}{" "}
            of {count(groups.length, "prompt")} at this step
          </small>
        )}
        <span className={styles.end}>
          {!searching && !labelling && (
            <>
              {steps.length > 0 && (
                <button
                  type="button"
                  className={styles.newest}
                  title="Label completions as right or wrong and compare with the reward"
                  onClick={() => go({ view: "label", sample: undefined }, true)}
                >
                  Label
                </button>
              )}
              <SplitSwitch split={place.split} go={go} />
            </>
          )}
          <SearchBar job={job} find={place.find} onFind={onFind} onEnd={endSearch} field={field} />
        </span>
      </div>
      {labelling ? (
        <Suspense fallback={<SkeletonCard height={320} label="Loading" />}>
          <LabelMode job={job} rewards={rewards} onClose={() => go({ view: "group" }, true)} />
        </Suspense>
      ) : searching ? (
        <Results job={job} place={place} hits={hits} words={words} onFind={onFind} onEnd={endSearch} />
      ) : (
        <>
          {query.isError && (
            <Failure
              title={query.data ? "Could not load new completions" : "Could not load completions"}
              error={query.error}
              retry={() => void query.refetch()}
            />
          )}
          {view.isEmpty && <NoCompletions split={place.split} live={live} />}
          {missing !== undefined && shownStep !== undefined && (
            <div className={styles.note}>
              <Notice tone="info" title={`Step ${missing} has no completions`}>
                The job may have resumed from an earlier step. Showing the nearest step, {shownStep}.
              </Notice>
            </div>
          )}
          {hits.isNarrowed && <HitBar place={place} here={here} hits={hits} go={go} />}
          {at !== undefined && steps.length > 0 && (
            <StepScrubber
              steps={steps}
              current={at}
              following={view.following}
              newer={view.newer}
              live={live}
              onStep={onStep}
              onNewest={onNewest}
            />
          )}
          {shownStep !== undefined && group && (
            <div className={styles.room} aria-busy={view.isStale}>
              <PromptList
                groups={groups}
                chosen={group}
                only={place.only}
                trains={place.split === "train"}
                onOnly={(only) => go({ only, prompt: undefined, sample: undefined })}
                // A person who picks a prompt reads it: the next step must not take it away.
                onChoose={(one) =>
                  go({ step: place.step ?? shownStep, prompt: one.prompt_no, sample: undefined })
                }
              />
              <div className={styles.main}>
                <SegmentedControl
                  size="xs"
                  aria-label="View of the prompt"
                  className={styles.views}
                  value={place.view}
                  onChange={(value) => go({ view: value as Place["view"] }, true)}
                  data={[
                    { value: "group", label: "This step" },
                    { value: "steps", label: "Across steps" },
                  ]}
                />
                {place.view === "steps" ? (
                  <AcrossSteps job={job} group={group} place={place} go={go} />
                ) : (
                  <GroupView
                    job={job}
                    step={shownStep}
                    group={group}
                    place={place}
                    words={words}
                    go={go}
                    keysAreTaken={onHit}
                  />
                )}
              </div>
            </div>
          )}
          {!query.data && !query.isError && <CompletionsSkeleton />}
          {shownStep !== undefined && steps.length > 0 && groups.length === 0 && !view.isStale && (
            <Empty title="No completions at this step">
              No completions of this split were sampled at this step.
            </Empty>
          )}
        </>
      )}
    </section>
  );
}
