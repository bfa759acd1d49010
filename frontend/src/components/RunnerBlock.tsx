import type { ReactNode } from "react";
import { CodeBlock } from "./CodeBlock";
import { CopyButton } from "./CopyButton";
import styles from "./RunnerBlock.module.css";

const PLACEHOLDER = "ftjob-…";

const PROGRAM = `cat > agent.py <<'PY'
from openai import OpenAI

client = OpenAI()  # address and key are those of the rollout


def play(task):
    reply = client.chat.completions.create(model="policy", messages=task["messages"])
    return float(reply.choices[0].message.content.strip() == str(task["item"]["answer"]))
PY`;

const yamlFile = (yaml: string) => `cat > job.yaml <<'YAML'
${yaml.trimEnd()}
YAML
reinforge job create -f job.yaml`;

/** Program, job file and command in the order in which they run. */
const commands = (job: string | null, yaml: string | null, origin: string) =>
  [
    `export REINFORGE_URL=${origin} REINFORGE_API_KEY=rf-…`,
    yaml && yamlFile(yaml),
    PROGRAM,
    `reinforge rollout serve agent:play --job ${job ?? PLACEHOLDER} --concurrency 16`,
  ]
    .filter(Boolean)
    .join("\n\n");

type Props = { job: string | null; yaml?: string; children: ReactNode };

/** How a program of one's own runs the rollouts of a job. `job`: its id, once it is created; `yaml`: its job file. */
export function RunnerBlock({ job, yaml, children }: Props) {
  const text = commands(job, yaml ?? null, window.location.origin);
  return (
    <div className={styles.block}>
      <div className={styles.head}>
        <span>{children}</span>
        <CopyButton text={text} size="compact-sm" />
      </div>
      <CodeBlock text={text} label="Program and command" />
    </div>
  );
}
