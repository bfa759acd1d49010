import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense, useRef, useState } from "react";
import { useAccess } from "@/api/access";
import { goldenQuery } from "@/api/golden";
import { jobsUsingQuery } from "@/api/jobs-using";
import { type Granularity, type RewardDetail, rewardQuery, useReviseReward } from "@/api/rewards";
import { ButtonLink } from "@/components/ButtonLink";
import { Crumb } from "@/components/Crumb";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { LeaveGuard } from "@/components/LeaveGuard";
import { Page, Tag } from "@/components/Page";
import { SkeletonCard } from "@/components/Skeleton";
import { TabNav } from "@/components/TabNav";
import { ago } from "@/lib/format";
import { toastDone } from "@/lib/toast";
import { useBenchDataset } from "./bench/Bench";
import { type BenchSession, EMPTY_SESSION } from "./bench/session";
import { atOnce } from "./bench/status";
import type { OnPlace, RewardPlace } from "./place";
import { Revisions } from "./Revisions";
import { RewardJobs } from "./RewardJobs";
import { Workbench } from "./Workbench";

const GoldenTab = lazy(() => import("./golden/GoldenTab"));
const ReplayTab = lazy(() => import("./replay/ReplayTab"));

type Props = {
  id: string;
  place: RewardPlace;
  onPlace: OnPlace;
  /** What was tried before the reward was saved. */
  session: BenchSession | undefined;
};

/** One reward: its editor with what it says, its revisions, and the jobs that used them. */
export function RewardPage({ id, place, onPlace, session }: Props) {
  const query = useQuery(rewardQuery(id));
  if (query.data) return <Loaded reward={query.data} place={place} onPlace={onPlace} begin={session} />;
  return (
    <Page title="Reward" crumbs={crumbsOf(id)} meta={<Tag>…</Tag>}>
      {query.isError && (
        <Failure title="Could not load the reward" error={query.error} retry={() => void query.refetch()} />
      )}
    </Page>
  );
}

const crumbsOf = (id: string, name?: string): ReactNode[] => [
  <Link key="rewards" to="/rewards">
    Rewards
  </Link>,
  <Crumb key="reward" id={id} name={name} />,
];

type LoadedProps = Pick<Props, "place" | "onPlace"> & {
  reward: RewardDetail;
  begin: BenchSession | undefined;
};

function Loaded({ reward, place, onPlace, begin }: LoadedProps) {
  const { id } = reward;
  const session = useRef(begin ?? EMPTY_SESSION);
  const newest = reward.revisions.find((one) => one.revision === reward.revision);
  const stored = { source: newest?.source ?? "", entry: reward.entry, etag: reward.etag };
  // Null until something is typed, so that a revision saved elsewhere shows up here.
  const [edited, setEdited] = useState<typeof stored | null>(null);
  const draft = edited ?? stored;
  const revise = useReviseReward(id);
  const { refusal } = useAccess();
  const jobs = useQuery(jobsUsingQuery({ reward: id }));
  const useful = useBenchDataset(place, jobs.data?.data[0]?.dataset);
  const golden = useQuery(goldenQuery(id)).data?.data.length;
  const changed = draft.source !== stored.source || draft.entry !== stored.entry;
  // Only once what was stored has come back: before, the old source would stand in the editor again.
  if (edited && !changed) setEdited(null);
  const nothing = changed ? null : "No changes since the newest revision.";

  const store = (next: typeof stored, done: string) =>
    revise.mutate(next, {
      onSuccess: (answer) => {
        toastDone(`${done} as revision ${answer.revision}. Jobs keep the revision they started with.`);
      },
    });
  const save = () => {
    if (!refusal && changed && !revise.isPending) store(draft, "Saved");
  };
  const tab = (name: RewardPlace["tab"], label: ReactNode) => (
    <Link
      to="/rewards/$id"
      params={{ id }}
      search={{ ...place, tab: name }}
      activeOptions={{ includeSearch: true, explicitUndefined: true }}
    >
      {label}
    </Link>
  );
  return (
    <Page
      title={reward.name}
      crumbs={crumbsOf(id, reward.name)}
      meta={
        <>
          <Tag>{changed ? `revision ${reward.revision}, changed` : `revision ${reward.revision}`}</Tag>
          <Tag>scores {atOnce(reward.granularity)}</Tag>
          <span>
            {reward.description && `${reward.description} · `}saved {ago(reward.updated_at)}
          </span>
        </>
      }
      actions={
        <>
          <GatedButton
            variant={changed ? "filled" : "default"}
            refusal={refusal ?? nothing}
            loading={revise.isPending}
            onClick={save}
            aria-keyshortcuts="Meta+S Control+S"
          >
            Save revision {reward.revision + 1}
          </GatedButton>
          {refusal ? (
            <GatedButton refusal={refusal}>Use in a job</GatedButton>
          ) : (
            <ButtonLink
              to="/jobs/new"
              search={{ reward: id, dataset: useful }}
              variant={changed ? "default" : "filled"}
            >
              Use in a job
            </ButtonLink>
          )}
        </>
      }
    >
      <LeaveGuard unsaved={changed} what="The reward has unsaved changes." />
      <TabNav label="Reward sections">
        {tab(undefined, "Edit and test")}
        {tab("golden", `Golden cases ${golden ?? ""}`)}
        {tab("replay", "Replay")}
        {tab("revisions", `Revisions ${reward.revisions.length}`)}
        {tab("jobs", "Used in")}
      </TabNav>
      {place.tab === undefined && !jobs.isPending && (
        <Workbench
          reward={id}
          draft={draft}
          onChange={(change) => setEdited((old) => ({ ...(old ?? stored), ...change }))}
          granularity={reward.granularity as Granularity}
          place={place}
          onPlace={onPlace}
          refusal={refusal}
          error={revise.error}
          onSave={save}
          likelyDataset={jobs.data?.data[0]?.dataset}
          session={session}
        />
      )}
      {place.tab === "golden" && (
        <Suspense fallback={<SkeletonCard height={160} />}>
          <GoldenTab reward={reward} unsaved={changed ? draft : null} refusal={refusal} />
        </Suspense>
      )}
      {place.tab === "replay" && (
        <Suspense fallback={<SkeletonCard height={160} />}>
          <ReplayTab
            reward={reward}
            unsaved={changed ? draft : null}
            place={place}
            onPlace={onPlace}
            refusal={refusal}
          />
        </Suspense>
      )}
      {place.tab === "revisions" && (
        <Revisions
          reward={reward}
          place={place}
          onPlace={onPlace}
          refusal={refusal ?? (changed ? "Save or discard the changes in the editor first." : null)}
          busy={revise.isPending}
          error={revise.error}
          onRestore={(one) => store({ ...stored, source: one.source }, `Revision ${one.revision} restored`)}
        />
      )}
      {place.tab === "jobs" && <RewardJobs id={id} />}
    </Page>
  );
}
