import { Button, Group, SegmentedControl } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type RewardRevision, rewardQuery, useReviseReward } from "@/api/rewards";
import { ButtonLink } from "@/components/ButtonLink";
import { CodeBlock } from "@/components/CodeBlock";
import { Failure } from "@/components/Failure";
import { Page, Tag } from "@/components/Page";
import { ago } from "@/lib/format";
import { RewardEditor } from "./RewardEditor";

type Props = { id: string; revision: number | undefined; onRevision: (revision: number | undefined) => void };

const functions = (revision: RewardRevision) =>
  revision.entries.map(({ name, line }) => (line ? `${name}() on line ${line}` : `${name}()`)).join(", ");

/** One reward: the source of each revision, and the next one. */
export function RewardPage({ id, revision, onRevision }: Props) {
  const query = useQuery(rewardQuery(id));
  const revise = useReviseReward(id);
  const [editing, { open, close }] = useDisclosure(false);
  const reward = query.data;
  const revisions = reward?.revisions.toSorted((a, b) => b.revision - a.revision) ?? [];
  const shown = revisions.find((one) => one.revision === revision) ?? revisions[0];
  const meta = reward && (
    <>
      <Tag>revision {reward.revision}</Tag>
      <Tag>scores one {reward.granularity} at a time</Tag>
      {reward.description && <span>{reward.description}</span>}
    </>
  );
  const actions = reward && !editing && (
    <>
      <Button variant="default" onClick={open}>
        New revision
      </Button>
      <ButtonLink to="/jobs/new" search={{ reward: id }}>
        Train with it
      </ButtonLink>
    </>
  );
  const store = (source: string) =>
    revise.mutate(
      { source, entry: reward?.entry ?? null },
      {
        onSuccess: () => {
          close();
          onRevision(undefined);
        },
      },
    );
  return (
    <Page
      title={reward?.name ?? "Reward"}
      crumbs={[
        <Link key="rewards" to="/rewards">
          Rewards
        </Link>,
        id,
      ]}
      meta={meta}
      actions={actions}
    >
      {query.isError && !reward && (
        <Failure
          title="The reward could not be loaded"
          error={query.error}
          retry={() => void query.refetch()}
        />
      )}
      {reward && shown && editing && (
        <RewardEditor
          start={{ name: reward.name, source: shown.source }}
          named
          submit={`Store as revision ${reward.revision + 1}`}
          busy={revise.isPending}
          error={revise.error}
          onSubmit={(draft) => store(draft.source)}
          onLeave={close}
        />
      )}
      {shown && !editing && (
        <>
          <Group mb="sm" gap="sm">
            {revisions.length > 1 && (
              <SegmentedControl
                size="xs"
                aria-label="Revision"
                value={String(shown.revision)}
                onChange={(value) => onRevision(Number(value))}
                data={revisions.slice(0, 8).map((one) => String(one.revision))}
              />
            )}
            <span style={{ color: "var(--ink3)", fontSize: 12.5 }}>
              stored {ago(shown.created_at)} · {functions(shown)} · <code>{shown.sha256.slice(0, 12)}</code>
            </span>
          </Group>
          <CodeBlock text={shown.source} label={`Source of revision ${shown.revision}`} numbered />
        </>
      )}
    </Page>
  );
}
