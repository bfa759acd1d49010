import { Button, NativeSelect, Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { rewardQuery, rewardsQuery } from "@/api/rewards";
import { CodeBlock } from "@/components/CodeBlock";
import { Failure } from "@/components/Failure";
import { FileDrop } from "@/components/FileDrop";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { Skeleton } from "@/components/Skeleton";
import { count } from "@/lib/format";
import { setAt, unsetAt } from "@/lib/paths";
import { type RewardItem, rewardsOf, withSource, withStored } from "../draft";
import { ShortField } from "../Field";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import styles from "../NewJob.module.css";
import { goldenOf } from "../problems";
import { Section } from "../Section";
import { GoldenFaults } from "./GoldenFaults";

/** A stored reward: its name, and which of its revisions. */
function Stored({ id, revision, path }: { id: string; revision: number | undefined; path: string }) {
  const { change, readOnly } = useForm();
  const reward = useQuery(rewardQuery(id));
  if (reward.isError && !reward.data) {
    return <Failure title="Could not load the reward" error={reward.error} />;
  }
  if (!reward.data) return <Skeleton width="40%" />;
  const set = (value: string) =>
    change((old) =>
      value === "" ? unsetAt(old, `${path}.revision`) : setAt(old, `${path}.revision`, Number(value)),
    );
  return (
    <>
      <Link to="/rewards/$id" params={{ id }} search={{ revision }}>
        {reward.data.name}
      </Link>
      <NativeSelect
        aria-label={`Revision of ${reward.data.name}`}
        size="xs"
        disabled={readOnly}
        value={revision === undefined ? "" : String(revision)}
        data={[
          { value: "", label: `newest revision, currently ${reward.data.revision}` },
          ...reward.data.revisions.map((one) => ({
            value: String(one.revision),
            label: `revision ${one.revision}`,
          })),
        ]}
        onChange={(event) => set(event.currentTarget.value)}
      />
    </>
  );
}

function Code({ source }: { source: string }) {
  return (
    <>
      <b>Inline code of this job</b>
      <span>{count(source.trimEnd().split("\n").length, "line")}</span>
    </>
  );
}

/** One reward: where it comes from, its name, what it counts. */
function Reward({ item, index, several }: { item: RewardItem; index: number; several: boolean }) {
  const { change, readOnly, byPath, placed } = useForm();
  const path = `rewards[${index}]`;
  const { problems } = useField(path);
  // Problems of fields under Advanced appear here too, where people look.
  const inside = ["source", "reward", "revision", "path"].flatMap(
    (key) => placed.at.get(`${path}.${key}`) ?? [],
  );
  const entry = useField(`${path}.entry`);
  return (
    <div className={styles.reward} id={fieldId(path)} tabIndex={-1}>
      <div className={styles.head}>
        {item.reward !== undefined && <Stored id={item.reward} revision={item.revision} path={path} />}
        {item.source !== undefined && <Code source={item.source} />}
        {!readOnly && (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Remove reward ${item.name ?? index + 1}`}
            onClick={() => change((old) => unsetAt(old, path))}
          >
            Remove
          </Button>
        )}
      </div>
      <div className={styles.two}>
        <ShortField path={`${path}.name`} label="Name">
          Name in charts and completions.
        </ShortField>
        <ShortField path={`${path}.weight`} label="Weight">
          {several
            ? "The total reward is the sum of weight × reward. Negative weights are penalties."
            : "1 keeps the reward unchanged. Negative weights are penalties."}
        </ShortField>
        {byPath.has(`${path}.entry`) && (entry.problems.length > 0 || entry.field?.value !== undefined) && (
          <ShortField path={`${path}.entry`} label="Function" />
        )}
      </div>
      <Problems problems={[...problems, ...inside].filter((one) => !goldenOf(one))} />
      {item.reward !== undefined && (
        <GoldenFaults reward={item.reward} problems={problems.filter(goldenOf)} />
      )}
      {item.source !== undefined && (
        <details className={styles.more}>
          <summary>Show the code</summary>
          <CodeBlock text={item.source} label={`Code of reward ${item.name ?? ""}`} numbered />
        </details>
      )}
    </div>
  );
}

function Add({ first }: { first: boolean }) {
  const { change } = useForm();
  const rewards = useQuery(rewardsQuery).data?.data ?? [];
  const read = async (file: File) => {
    const source = await file.text();
    change((old) => withSource(old, file.name, source));
  };
  return (
    <>
      {rewards.length > 0 && (
        <Select
          aria-label="Saved reward"
          placeholder={first ? "Choose a saved reward" : "Add another saved reward"}
          searchable
          value={null}
          data={rewards.map((one) => ({ value: one.id, label: `${one.name} · revision ${one.revision}` }))}
          onChange={(id) => {
            const one = rewards.find((entry) => entry.id === id);
            if (one) change((old) => withStored(old, one));
          }}
        />
      )}
      {first && (
        <FileDrop
          what="a .py file"
          note="It must define grade(sample, item) or another supported signature."
          onFile={(file) => void read(file)}
        />
      )}
      {!first && (
        <label className={page.file}>
          <input
            type="file"
            accept=".py,text/x-python"
            className="visually-hidden"
            onChange={(event) => {
              const [file] = event.currentTarget.files ?? [];
              if (file) void read(file);
              event.currentTarget.value = "";
            }}
          />
          Add a .py file
        </label>
      )}
      {first && (
        <p className={page.quiet}>
          Or <Link to="/rewards/new">write one</Link> and test it first; this draft is kept.
        </p>
      )}
    </>
  );
}

/** Step three: what a good completion is. */
export function RewardSection() {
  const { draft, readOnly } = useForm();
  const { problems } = useField("rewards");
  const items = rewardsOf(draft);
  return (
    <Section
      id="rewards"
      title="Rewards and weights"
      about="Rewards score completions: Python code, run in a sandbox on the worker, or graders."
    >
      {items.map((item, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a reward's place is its name in the specification
        <Reward key={i} item={item} index={i} several={items.length > 1} />
      ))}
      <div id={fieldId("rewards")} tabIndex={-1} className={styles.stack}>
        {!readOnly && <Add first={items.length === 0} />}
        <Problems problems={problems} />
      </div>
    </Section>
  );
}
