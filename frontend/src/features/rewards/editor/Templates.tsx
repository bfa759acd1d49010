import { Button, Drawer, Loader, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { type RewardTemplate, rewardTemplatesQuery } from "@/api/rewards";
import { CodeBlock } from "@/components/CodeBlock";
import { CopyButton } from "@/components/CopyButton";
import { Failure } from "@/components/Failure";
import { count } from "@/lib/format";
import styles from "./Templates.module.css";
import { reads, searchTemplates } from "./templates";

type Props = {
  opened: boolean;
  onClose: () => void;
  /** Columns of the dataset that the reward is tried on; empty when there is none. */
  columns: readonly string[];
  /** The one that is declared as the answer. */
  answer: string | undefined;
  onInsert: (template: RewardTemplate) => void;
};

type ItemProps = Pick<Props, "columns" | "answer" | "onInsert"> & { template: RewardTemplate };

function Item({ template, columns, answer, onInsert }: ItemProps) {
  const python = (template.type ?? "python") === "python";
  const parameters = template.parameters ?? [];
  return (
    <li>
      <div className={styles.head}>
        <div>
          <h4>{template.title}</h4>
          <p>
            {template.description} <span>{reads(template, columns, answer)}</span>
          </p>
        </div>
        {python ? (
          <Button variant="default" onClick={() => onInsert(template)} aria-label={`Use ${template.title}`}>
            Use
          </Button>
        ) : (
          <CopyButton text={template.source} label="Copy for job file" />
        )}
      </div>
      <details>
        <summary>{python ? "Source and limits" : "Job file and limits"}</summary>
        <ul className={styles.limits}>
          {(template.limits ?? []).map((limit) => (
            <li key={limit}>{limit}</li>
          ))}
          {parameters.length > 0 && (
            <li>
              Set at the top:{" "}
              {parameters.map(({ name }, index) => (
                <span key={name}>
                  {index > 0 && ", "}
                  <code>{name}</code>
                </span>
              ))}
            </li>
          )}
        </ul>
        <CodeBlock text={template.source} label={`Source of ${template.title}`} numbered />
      </details>
    </li>
  );
}

/** The ready rewards: what each pays for, what it does not see, and its source. */
export function Templates({ opened, onClose, columns, answer, onInsert }: Props) {
  const templates = useQuery({ ...rewardTemplatesQuery, enabled: opened });
  const [query, setQuery] = useState("");
  const all = templates.data?.data ?? [];
  const groups = searchTemplates(all, query);
  const matching = groups.reduce((sum, { rewards }) => sum + rewards.length, 0);
  return (
    <Drawer
      opened={opened}
      onClose={onClose}
      position="right"
      size="min(680px, 100vw)"
      title="Start from a template"
      closeButtonProps={{ "aria-label": "Close" }}
      transitionProps={{ duration: 120 }}
    >
      {templates.isPending && <Loader size="sm" aria-label="Loading" />}
      {templates.isError && (
        <Failure
          title="Could not load templates"
          error={templates.error}
          retry={() => void templates.refetch()}
        />
      )}
      {all.length > 0 && (
        <div className={styles.search}>
          <TextInput
            aria-label="Search the templates"
            placeholder="Search: number, JSON, length …"
            data-autofocus
            value={query}
            onChange={(event) => setQuery(event.currentTarget.value)}
          />
          <p role="status">
            {query.trim() === ""
              ? count(all.length, "ready reward")
              : matching === 0
                ? `No template matches “${query.trim()}”.`
                : `${matching} of ${all.length}`}
          </p>
        </div>
      )}
      {groups.map(({ name, rewards }) => (
        <section key={name} className={styles.group} aria-label={name}>
          <h3>{name}</h3>
          <ul className={styles.list}>
            {rewards.map((template) => (
              <Item
                key={template.id}
                template={template}
                columns={columns}
                answer={answer}
                onInsert={onInsert}
              />
            ))}
          </ul>
        </section>
      ))}
    </Drawer>
  );
}
