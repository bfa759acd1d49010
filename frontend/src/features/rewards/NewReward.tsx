import { Select, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { useAccess } from "@/api/access";
import { type Granularity, useCreateReward } from "@/api/rewards";
import { GatedButton } from "@/components/GatedButton";
import { LeaveGuard } from "@/components/LeaveGuard";
import { Page } from "@/components/Page";
import { isGrader } from "@/lib/grader";
import { firstPython, isFirstPython } from "@/lib/grader-start";
import { useSingleFlight } from "@/lib/single-flight";
import { type BenchSession, EMPTY_SESSION, settled } from "./bench/session";
import type { OnPlace, RewardPlace } from "./place";
import { Workbench } from "./Workbench";
import styles from "./Workbench.module.css";

/** What each granularity hands to the function. */
const GRANULARITIES: { value: Granularity; label: string }[] = [
  { value: "sample", label: "One completion" },
  { value: "group", label: "A group of completions" },
  { value: "batch", label: "Batch" },
];

export type OpenedFile = { name: string; source: string };

type Props = {
  /** A file dropped on the list. */
  opened: OpenedFile | undefined;
  place: RewardPlace;
  onPlace: OnPlace;
  onCreated: (id: string, session: BenchSession) => void;
};

/** Write a reward, build a grader, drop one or start from a template; stored when a worker's sandbox has loaded it. */
export function NewReward({ opened, place, onPlace, onCreated }: Props) {
  const start = opened ?? { name: "", source: firstPython() };
  const [draft, setDraft] = useState({ source: start.source, entry: null as string | null });
  const [name, setName] = useState(start.name);
  const [description, setDescription] = useState("");
  const [granularity, setGranularity] = useState<Granularity>("sample");
  const create = useCreateReward();
  const once = useSingleFlight();
  const session = useRef(EMPTY_SESSION);
  const { refusal } = useAccess();
  const missing =
    name.trim() === ""
      ? "Enter a name first."
      : draft.source.trim() === ""
        ? "Write the source first."
        : null;
  const unsaved = !create.isPending && !create.isSuccess && (!isFirstPython(draft.source) || name !== "");
  const save = () => {
    if (refusal ?? missing) return;
    const reward = { ...draft, name: name.trim(), granularity, description: description.trim() || null };
    // `create.error` has the refusal.
    void once(() =>
      create.mutateAsync(reward).then(
        ({ id }) => onCreated(id, settled(session.current)),
        () => undefined,
      ),
    );
  };
  return (
    <Page
      title="New reward"
      crumbs={[
        <Link key="rewards" to="/rewards">
          Rewards
        </Link>,
        "New reward",
      ]}
      actions={
        <GatedButton refusal={refusal ?? missing} loading={create.isPending} onClick={save}>
          Save reward
        </GatedButton>
      }
    >
      <LeaveGuard unsaved={unsaved} what="The reward is not saved." />
      <div style={{ "--above": "252px" } as React.CSSProperties}>
        <Workbench
          draft={draft}
          onChange={(change) => setDraft((old) => ({ ...old, ...change }))}
          granularity={granularity}
          place={place}
          onPlace={onPlace}
          refusal={refusal}
          error={create.error}
          onSave={save}
          session={session}
          onName={(file) => setName((old) => old || file)}
          onTemplate={(template) => {
            setName((old) => old || template.id);
            setDescription((old) => old || template.title);
            setGranularity(template.granularity ?? "sample");
          }}
        >
          <div className={styles.fields}>
            <TextInput
              label="Name"
              placeholder="Name in jobs and completions"
              required
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
            />
            <TextInput
              label="Description"
              placeholder="Optional"
              maxLength={2000}
              value={description}
              onChange={(event) => setDescription(event.currentTarget.value)}
            />
            {!isGrader(draft.source) && (
              <Select
                label="Input per call"
                data={GRANULARITIES}
                value={granularity}
                allowDeselect={false}
                onChange={(value) => setGranularity(value as Granularity)}
              />
            )}
          </div>
        </Workbench>
      </div>
    </Page>
  );
}
