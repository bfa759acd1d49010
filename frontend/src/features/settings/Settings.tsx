import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useAccess } from "@/api/access";
import { meQuery } from "@/api/session";
import { Page } from "@/components/Page";
import { ThemeChoice } from "@/components/ThemeChoice";
import { useSingleKeys } from "@/lib/shortcuts";
import { Account } from "./Account";
import { Audit } from "./Audit";
import { Judges } from "./Judges";
import { Keys } from "./Keys";
import { Members } from "./Members";
import { ProjectSection } from "./ProjectSection";
import styles from "./Settings.module.css";
import { UsageSection } from "./UsageSection";

type SectionProps = { id: string; title: string; text: ReactNode; children: ReactNode };

/** One subject: what it is at the left, its controls beside it. */
function Section({ id, title, text, children }: SectionProps) {
  return (
    <section className={styles.section} aria-labelledby={id}>
      <div className={styles.about}>
        <h2 id={id}>{title}</h2>
        <p>{text}</p>
      </div>
      <div className={styles.body}>{children}</div>
    </section>
  );
}

function You() {
  const me = useQuery(meQuery).data;
  const { role } = useAccess();
  const facts = [
    ["Name", me?.name],
    ["Role", role],
    ["Project", me?.project_name],
    ["Project id", me?.project],
    ["Version", me?.version],
  ];
  return (
    <dl className={styles.facts}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? "…"}</dd>
        </div>
      ))}
    </dl>
  );
}

function Preferences() {
  const [single, setSingle] = useSingleKeys();
  return (
    <div className={styles.controls}>
      <div>
        <div className={styles.label}>Theme</div>
        <ThemeChoice />
      </div>
      <Switch
        label="Single-letter keys"
        description="j, k, / and others. Turn them off when speech input or a screen reader types letters."
        checked={single}
        onChange={(event) => setSingle(event.currentTarget.checked)}
      />
    </div>
  );
}

/** Who one is, how the page looks here, who else may sign in, which keys scripts use, and which judges graders ask. */
export function Settings() {
  return (
    <Page title="Settings">
      <div className={styles.sections}>
        <Section id="you" title="You" text="As this browser is signed in.">
          <You />
        </Section>
        <Section
          id="account"
          title="Account"
          text="An e-mail address and a password are optional: one-time links and API keys sign in without them."
        >
          <Account />
        </Section>
        <Section id="page" title="This page" text="Kept in this browser only.">
          <Preferences />
        </Section>
        <Section
          id="members"
          title="Members"
          text="People sign in with a one-time link. Viewers read, editors also change things, owners also manage members and keys."
        >
          <Members />
        </Section>
        <Section
          id="keys"
          title="API keys"
          text="For scripts, CI and the command line. A secret is shown once, when it is made; only its hash is kept."
        >
          <Keys />
        </Section>
        <Section
          id="usage"
          title="Usage"
          text="By day in UTC. A budget that is used up pauses the project's jobs and refuses new ones."
        >
          <UsageSection />
        </Section>
        <Section
          id="judges"
          title="Judges"
          text="Models that graders ask, by name. Workers ask them; keys are kept encrypted and never shown."
        >
          <Judges />
        </Section>
        <Section
          id="project"
          title="Project"
          text="Its data can be taken away as one archive, without keys and passwords."
        >
          <ProjectSection />
        </Section>
        <Section
          id="audit"
          title="Audit log"
          text="Who did what to which thing. Entries are only ever added."
        >
          <Audit />
        </Section>
      </div>
    </Page>
  );
}
