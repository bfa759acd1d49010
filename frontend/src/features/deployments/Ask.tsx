import { Tabs } from "@mantine/core";
import type { Deployment } from "@/api/deployments";
import { CodeBlock } from "@/components/CodeBlock";
import { CopyButton } from "@/components/CopyButton";
import styles from "./Deployments.module.css";
import { snippets } from "./snippets";

/** How the deployment is asked from outside, to copy. */
export function Ask({ of }: { of: Deployment }) {
  const list = snippets(of, window.location.origin);
  return (
    <section className={styles.ask} aria-labelledby="ask-deployment">
      <h2 id="ask-deployment">Ask {of.name}</h2>
      <p>
        Any OpenAI client can: the address is <code>{window.location.origin}/v1</code>, the model is{" "}
        <code>{of.name}</code>.
      </p>
      <Tabs defaultValue={list[0]?.key} variant="default" keepMounted={false}>
        <Tabs.List>
          {list.map(({ key, title }) => (
            <Tabs.Tab key={key} value={key}>
              {title}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {list.map(({ key, title, about, text }) => (
          <Tabs.Panel key={key} value={key} pt="sm">
            <div className={styles.guide}>
              <span>{about}</span>
              <CopyButton text={text} size="compact-sm" />
            </div>
            <CodeBlock text={text} label={title} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </section>
  );
}
