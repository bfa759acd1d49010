import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type Example, exampleQuery } from "@/api/examples";
import { ButtonLink } from "@/components/ButtonLink";
import { CodeBlock } from "@/components/CodeBlock";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { count, duration, reward } from "@/lib/format";
import styles from "./Examples.module.css";

type Props = {
  example: Example;
  refusal: string | null;
  busy: boolean;
  /** Why it could not be started. */
  error: Error | null;
  onStart: () => void;
};

function Result({ example: { result, steps } }: { example: Example }) {
  if (!result) return <p className={styles.result}>{count(steps, "step")}, not measured yet</p>;
  return (
    <p className={styles.result} title={`${result.machine}, ${result.date}, commit ${result.commit}`}>
      <strong>
        {reward(result.base)} → {reward(result.tuned)}
      </strong>{" "}
      held-out reward in {count(result.steps, "step")}, {duration(result.seconds)} on{" "}
      {result.machine.split(", ")[0]}
    </p>
  );
}

/** What the reward and the job file say, loaded when somebody looks. */
function Files({ name }: { name: string }) {
  const files = useQuery(exampleQuery(name));
  if (!files.data) return <p role="status">{files.isError ? files.error.message : "Loading"}</p>;
  const texts = { ...files.data.rewards, "job.yaml": files.data.job_file };
  return Object.entries(texts).map(([file, text]) => (
    <figure key={file} className={styles.file}>
      <figcaption>{file}</figcaption>
      <CodeBlock text={text} label={`${file} of ${name}`} />
    </figure>
  ));
}

/** One example: what it teaches, what it reached, its start. */
export function ExampleCard({ example, refusal, busy, error, onStart }: Props) {
  const [opened, setOpened] = useState(false);
  const { name, title, summary, rows, held_out_rows: heldOut, job } = example;
  return (
    <li>
      <h3>{title}</h3>
      <p>{summary}</p>
      <Result example={example} />
      <p className={styles.facts}>
        {rows} rows, {heldOut} held out · {example.model} · {example.preset}
      </p>
      <details onToggle={(event) => setOpened(event.currentTarget.open)}>
        <summary>
          Reward and job file<span className="visually-hidden"> of {title}</span>
        </summary>
        {opened && <Files name={name} />}
      </details>
      {error && <Failure title="Could not start the example" error={error} />}
      <div className={styles.act}>
        {job ? (
          <ButtonLink to="/jobs/$id" params={{ id: job }} variant="default">
            Open its job<span className="visually-hidden"> for {title}</span>
          </ButtonLink>
        ) : (
          <GatedButton variant="default" refusal={refusal} loading={busy} onClick={onStart}>
            Start<span className="visually-hidden"> {title}</span>
          </GatedButton>
        )}
      </div>
    </li>
  );
}
