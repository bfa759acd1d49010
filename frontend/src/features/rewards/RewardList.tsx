import { Dropzone } from "@mantine/dropzone";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { type RewardSummary, rewardsQuery } from "@/api/rewards";
import { ButtonLink } from "@/components/ButtonLink";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Page } from "@/components/Page";
import { ago, NOTHING, percent } from "@/lib/format";
import { atOnce } from "./bench/status";
import type { OpenedFile } from "./NewReward";
import styles from "./RewardList.module.css";

const COLUMNS: Column<RewardSummary>[] = [
  {
    head: "Reward",
    cut: true,
    cell: (one) => (
      <Link to="/rewards/$id" params={{ id: one.id }} data-row title={one.name}>
        {one.name}
      </Link>
    ),
  },
  { head: "Description", grow: true, hide: "narrow", cell: (one) => one.description ?? NOTHING },
  { head: "Revision", hide: "narrow", align: "right", cell: (one) => one.revision },
  { head: "Function", hide: "medium", cell: (one) => <code>{one.entry ?? "grade"}</code> },
  { head: "Input per call", hide: "medium", cell: (one) => atOnce(one.granularity) },
  { head: "Jobs", hide: "narrow", align: "right", cell: (one) => one.jobs ?? 0 },
  {
    head: "Last used",
    align: "right",
    cell: (one) => (one.last_used_at ? ago(one.last_used_at) : "never"),
  },
  {
    head: "Errors",
    align: "right",
    cell: ({ error_share: share }) => (
      <span
        className={share ? styles.errors : undefined}
        title="Completions that it failed to score, in jobs where it is the only reward"
      >
        {percent(share)}
      </span>
    ),
  },
  { head: "Saved", hide: "narrow", align: "right", cell: (one) => ago(one.updated_at) },
];

/** All rewards; a `.py` file dropped anywhere opens in the editor. */
export function RewardList({ onFile }: { onFile: (file: OpenedFile) => void }) {
  const rewards = useQuery(rewardsQuery);
  const { refusal } = useAccess();
  const rows = rewards.data?.data;
  const open = async (file: File) =>
    onFile({ name: file.name.replace(/\.py$/, ""), source: await file.text() });
  const create = refusal ? (
    <GatedButton refusal={refusal}>New reward</GatedButton>
  ) : (
    <ButtonLink to="/rewards/new">New reward</ButtonLink>
  );
  return (
    <Page title="Rewards" actions={create}>
      <Dropzone.FullScreen
        active={!refusal}
        multiple={false}
        activateOnKeyboard={false}
        onDrop={([file]) => file && void open(file)}
        aria-label="Drop a .py file anywhere on this page"
      >
        <div className={styles.everywhere}>
          <b>Drop a .py file anywhere on this page</b>
          It opens in the editor and is not saved yet
        </div>
      </Dropzone.FullScreen>
      {rewards.isError && !rows ? (
        <Failure title="Could not load rewards" error={rewards.error} retry={() => void rewards.refetch()} />
      ) : rows?.length === 0 ? (
        <Empty title="No rewards yet" action={create}>
          A reward is a Python function that scores completions. Drop a .py file here, or write one from a
          template. Each save creates a revision, so every score can be traced to its code.
        </Empty>
      ) : (
        <>
          <DataTable label="Rewards" columns={COLUMNS} rows={rows} rowKey={(one) => one.id} />
          {!refusal && (
            <p className={styles.note}>Drop a .py file anywhere on this page to open it in the editor.</p>
          )}
        </>
      )}
    </Page>
  );
}
