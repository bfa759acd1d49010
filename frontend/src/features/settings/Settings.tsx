import { Switch } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useAccess } from "@/api/access";
import { meQuery } from "@/api/session";
import { Page } from "@/components/Page";
import { TabNav } from "@/components/TabNav";
import { ThemeChoice } from "@/components/ThemeChoice";
import { useSingleKeys } from "@/lib/shortcuts";
import { Account } from "./Account";
import { Audit } from "./Audit";
import { Judges } from "./judges/Judges";
import { Keys } from "./keys/Keys";
import { Invitations } from "./members/Invitations";
import { Members } from "./members/Members";
import { Notifications } from "./notifications/Notifications";
import { ProjectSection } from "./ProjectSection";
import { SETTINGS_TABS, type SettingsPlace } from "./place";
import styles from "./Settings.module.css";
import { Trackers } from "./trackers/Trackers";
import { UsageSection } from "./usage/UsageSection";
import { Webhooks } from "./webhooks/Webhooks";

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

type Props = { place: SettingsPlace; onPlace: (place: SettingsPlace) => void };

/** The sections of one tab. */
function Sections({ place, onPlace }: Props) {
  switch (place.tab) {
    case undefined:
      return (
        <>
          <Section id="you" title="You" text="The account signed in with this browser.">
            <You />
          </Section>
          <Section
            id="account"
            title="Account"
            text="An e-mail address and a password are optional: one-time links and API keys sign in without them."
          >
            <Account />
          </Section>
          <Section
            id="notifications"
            title="E-mail"
            text="Messages about jobs and evaluations of this project. Every message has a link to unsubscribe."
          >
            <Notifications />
          </Section>
          <Section id="page" title="This page" text="Saved in this browser only.">
            <Preferences />
          </Section>
        </>
      );
    case "people":
      return (
        <>
          <Section
            id="members"
            title="Members"
            text="Viewers can read, editors can also change things, owners can also manage members and keys. New people sign in with a one-time link."
          >
            <Members />
          </Section>
          <Section
            id="invitations"
            title="Invitations"
            text="A link with which one person can join under a name of their choice."
          >
            <Invitations />
          </Section>
        </>
      );
    case "keys":
      return (
        <Section
          id="keys"
          title="API keys"
          text="For scripts, CI and the command line. The secret is shown once when you create a key; only its hash is stored."
        >
          <Keys />
        </Section>
      );
    case "usage":
      return (
        <Section
          id="usage"
          title="Usage"
          text="Per day in UTC. When a budget is used up, jobs pause and requests are rejected."
        >
          <UsageSection />
        </Section>
      );
    case "webhooks":
      return (
        <Section
          id="webhooks"
          title="Webhooks"
          text="Signed requests to your servers about jobs and evaluations, retried for 72 hours."
        >
          <Webhooks place={place} onPlace={onPlace} />
        </Section>
      );
    case "judges":
      return (
        <Section
          id="judges"
          title="Judges"
          text="Models that graders use, by name. Workers send the requests; keys are stored encrypted and never shown."
        >
          <Judges />
        </Section>
      );
    case "trackers":
      return (
        <Section
          id="trackers"
          title="Trackers"
          text="Weights & Biases and MLflow, to which jobs are exported while they run. Keys are stored encrypted and never shown."
        >
          <Trackers />
        </Section>
      );
    case "project":
      return (
        <Section
          id="project"
          title="Project"
          text="You can export its data as one archive, without keys and passwords."
        >
          <ProjectSection />
        </Section>
      );
    case "audit":
      return (
        <Section
          id="audit"
          title="Audit log"
          text="All changes by people and keys. Hover over a time to see UTC. Entries cannot be changed or deleted."
        >
          <Audit q={place.q} onSearch={(q) => onPlace({ tab: "audit", q })} />
        </Section>
      );
  }
}

/** Who one is, who else may sign in, which keys and webhooks there are, what is used, and who did what. */
export function Settings({ place, onPlace }: Props) {
  return (
    <Page title="Settings">
      <div className={styles.tabbed}>
        <TabNav label="Settings sections">
          {SETTINGS_TABS.map(([tab, label]) => (
            <Link
              key={label}
              to="/settings"
              search={{ tab }}
              // Without this the tab without a name would count as open on every tab.
              activeOptions={{ includeSearch: true, explicitUndefined: true }}
            >
              {label}
            </Link>
          ))}
        </TabNav>
        <div className={styles.sections}>
          <Sections place={place} onPlace={onPlace} />
        </div>
      </div>
    </Page>
  );
}
