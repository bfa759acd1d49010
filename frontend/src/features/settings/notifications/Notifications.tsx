import { Button, Checkbox } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import {
  type NotificationEvent,
  type NotificationSettings,
  notificationsQuery,
  useSaveNotifications,
  useSendConfirmation,
} from "@/api/notifications";
import { meQuery } from "@/api/session";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { Skeleton } from "@/components/Skeleton";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { ALL_EVENTS, EVENTS } from "../webhooks/webhook-words";
import { confirmationWords } from "./confirmation-words";

function Confirmation({ settings }: { settings: NotificationSettings }) {
  const send = useSendConfirmation();
  return (
    <>
      <p role="status">{confirmationWords(settings)}</p>
      {send.error && <Failure title="Could not send the confirmation" error={send.error} />}
      <div>
        <Button variant="default" loading={send.isPending} onClick={() => send.mutate()}>
          {settings.confirmation === "none" ? "Send confirmation" : "Send again"}
        </Button>
      </div>
    </>
  );
}

function Events({ settings }: { settings: NotificationSettings }) {
  const saved = settings.events as NotificationEvent[];
  const [events, setEvents] = useState(saved);
  const save = useSaveNotifications();
  const changed = [...events].sort().join() !== [...saved].sort().join();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const done = () => toastDone(events.length > 0 ? "Notifications saved." : "You get no more e-mail.");
    void save.mutateAsync({ events, etag: settings.etag }).then(done, () => undefined);
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <p>Sent to {settings.email}, which is confirmed.</p>
      <Checkbox.Group
        label="Send an e-mail when"
        value={events}
        onChange={(next) => setEvents(next as NotificationEvent[])}
      >
        <div className={styles.scopes}>
          {ALL_EVENTS.map((one) => (
            <Checkbox key={one} value={one} label={EVENTS[one]} />
          ))}
        </div>
      </Checkbox.Group>
      {save.error && <Failure title="Could not save the notifications" error={save.error} />}
      <div className={styles.bar}>
        <Button type="submit" variant="default" loading={save.isPending} disabled={!changed}>
          Save
        </Button>
      </div>
    </form>
  );
}

/** Which events of the project are sent to the person's own, confirmed address. */
export function Notifications() {
  const me = useQuery(meQuery).data;
  const query = useQuery({ ...notificationsQuery, enabled: Boolean(me?.user) });
  const settings = query.data;
  if (me && !me.member)
    return <p className={styles.none}>Only people who are members of the project receive e-mail.</p>;
  if (!settings)
    return query.isError ? (
      <Failure
        title="Could not load the notifications"
        error={query.error}
        retry={() => void query.refetch()}
      />
    ) : (
      <Skeleton height={60} />
    );
  if (!settings.available)
    return (
      <Notice tone="info" title="This server sends no e-mail">
        The operator must set <code>REINFORGE_SMTP_HOST</code> and <code>REINFORGE_SMTP_FROM</code>.
      </Notice>
    );
  if (!settings.email)
    return <p className={styles.none}>Set an e-mail address and a password under Account first.</p>;
  if (!settings.confirmed) return <Confirmation settings={settings} />;
  return <Events key={settings.etag} settings={settings} />;
}
