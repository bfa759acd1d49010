import { Button, Drawer, Loader } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type RewardTemplate, rewardTemplatesQuery } from "@/api/rewards";
import { CodeBlock } from "@/components/CodeBlock";
import { Failure } from "@/components/Failure";
import styles from "./Templates.module.css";

type Props = {
  opened: boolean;
  onClose: () => void;
  /** Columns of the dataset that the reward is tried on; empty when there is none. */
  columns: readonly string[];
  onInsert: (template: RewardTemplate) => void;
};

function reads(template: RewardTemplate, columns: readonly string[]) {
  const missing = (template.columns ?? []).filter((name) => !columns.includes(name));
  const names = (list: readonly string[]) => list.map((name) => `“${name}”`).join(", ");
  if ((template.columns ?? []).length === 0) return "Reads no column.";
  if (columns.length > 0 && missing.length > 0) return `Reads ${names(missing)}, which the dataset lacks.`;
  return `Reads ${names(template.columns ?? [])}.`;
}

/** Rewards to start from: what each pays for, and its source. */
export function Templates({ opened, onClose, columns, onInsert }: Props) {
  const templates = useQuery({ ...rewardTemplatesQuery, enabled: opened });
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
          title="Templates could not be loaded"
          error={templates.error}
          retry={() => void templates.refetch()}
        />
      )}
      <ul className={styles.list}>
        {templates.data?.data.map((template) => (
          <li key={template.id}>
            <div className={styles.head}>
              <div>
                <h3>{template.title}</h3>
                <p>
                  {template.description} <span>{reads(template, columns)}</span>
                </p>
              </div>
              <Button
                variant="default"
                onClick={() => onInsert(template)}
                aria-label={`Use it: ${template.title}`}
              >
                Use it
              </Button>
            </div>
            <details>
              <summary>Source</summary>
              <CodeBlock text={template.source} label={`Source of ${template.title}`} numbered />
            </details>
          </li>
        ))}
      </ul>
    </Drawer>
  );
}
