import { Tabs } from "@mantine/core";
import { CodeBlock } from "./CodeBlock";
import { CopyButton } from "./CopyButton";
import styles from "./Snippets.module.css";

export type Snippet = { key: string; title: string; about: string; text: string };

/** Texts to copy, one per tab. */
export function Snippets({ of }: { of: Snippet[] }) {
  return (
    <Tabs defaultValue={of[0]?.key} variant="default" keepMounted={false}>
      <Tabs.List>
        {of.map(({ key, title }) => (
          <Tabs.Tab key={key} value={key}>
            {title}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {of.map(({ key, title, about, text }) => (
        <Tabs.Panel key={key} value={key} pt="sm">
          <div className={styles.about}>
            <span>{about}</span>
            <CopyButton text={text} size="compact-sm" />
          </div>
          <CodeBlock text={text} label={title} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
