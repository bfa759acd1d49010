import { Button, Menu } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import {
  useChangeWebhook,
  useDeleteWebhook,
  useRotateSecret,
  type Webhook,
  webhooksQuery,
} from "@/api/webhooks";
import { Confirm } from "@/components/Confirm";
import { type Column, DataTable } from "@/components/DataTable";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { toastDone, toastFailed } from "@/lib/toast";
import type { SettingsPlace } from "../place";
import styles from "../Settings.module.css";
import { Deliveries } from "./Deliveries";
import { WebhookForm } from "./WebhookForm";
import { WebhookSecret } from "./WebhookSecret";
import { eventWords, stateWords } from "./webhook-words";

const short = (url: string) => url.replace(/^https?:\/\//, "");

type Acts = {
  onShow: (webhook: Webhook) => void;
  onEdit: (webhook: Webhook) => void;
  onSwitch: (webhook: Webhook) => void;
  onRotate: (webhook: Webhook) => void;
  onDelete: (webhook: Webhook) => void;
};

const columns = (selected: Webhook | undefined, acts: Acts): Column<Webhook>[] => [
  {
    head: "URL",
    grow: true,
    cell: (one) => (
      <button
        type="button"
        data-row
        aria-pressed={one.id === selected?.id}
        title={one.url}
        onClick={() => acts.onShow(one)}
      >
        {short(one.url)}
      </button>
    ),
  },
  { head: "Description", hide: "medium", cut: true, cell: (one) => one.description },
  {
    head: "Events",
    hide: "narrow",
    cell: (one) => <span title={one.events.join(", ")}>{eventWords(one.events)}</span>,
  },
  { head: "Status", cell: (one) => <span title={stateWords(one)}>{one.enabled ? "on" : "off"}</span> },
  {
    head: "Actions",
    align: "right",
    cell: (one) => (
      <span className={styles.rowActions}>
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default" size="compact-sm" aria-label={`More for ${short(one.url)}`}>
              More
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => acts.onEdit(one)}>Change…</Menu.Item>
            <Menu.Item onClick={() => acts.onSwitch(one)}>{one.enabled ? "Disable" : "Enable"}</Menu.Item>
            <Menu.Item onClick={() => acts.onRotate(one)}>New secret</Menu.Item>
            <Menu.Item onClick={() => acts.onDelete(one)}>Delete…</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </span>
    ),
  },
];

type Props = { place: SettingsPlace; onPlace: (place: SettingsPlace) => void };

/** Addresses that hear of what happens here, and what was sent to them; for owners. */
export function Webhooks({ place, onPlace }: Props) {
  const { ownersOnly } = useAccess();
  const webhooks = useQuery({ ...webhooksQuery, enabled: ownersOnly === null });
  const change = useChangeWebhook();
  const rotate = useRotateSecret();
  const remove = useDeleteWebhook();
  const [form, setForm] = useState<{ of?: Webhook }>();
  const [deleting, setDeleting] = useState<Webhook>();
  const rows = webhooks.data?.data;
  const selected = rows?.find((one) => one.id === place.webhook) ?? rows?.[0];
  if (ownersOnly)
    return (
      <Notice tone="info" title="Webhooks">
        {ownersOnly}
      </Notice>
    );
  const add = (
    <Button variant="default" onClick={() => setForm({})}>
      New webhook
    </Button>
  );
  const onSwitch = ({ id, etag, enabled, url }: Webhook) =>
    change.mutate(
      { id, etag, enabled: !enabled },
      {
        onSuccess: () => toastDone(enabled ? `${short(url)} is disabled.` : `${short(url)} is enabled.`),
        onError: (error) => toastFailed("Could not change the webhook", error),
      },
    );
  const acts: Acts = {
    onShow: ({ id }) => onPlace({ tab: "webhooks", webhook: id }),
    onEdit: (of) => setForm({ of }),
    onSwitch,
    onRotate: ({ id }) =>
      rotate.mutate(id, { onError: (error) => toastFailed("Could not create a new secret", error) }),
    onDelete: setDeleting,
  };
  const deleted = () => {
    toastDone("Webhook deleted.");
    setDeleting(undefined);
    onPlace({ tab: "webhooks" });
  };
  return (
    <>
      {webhooks.isError && !rows ? (
        <Failure
          title="Could not load webhooks"
          error={webhooks.error}
          retry={() => void webhooks.refetch()}
        />
      ) : rows?.length === 0 ? (
        <Empty title="No webhooks yet" picture="key" action={add}>
          A webhook notifies your server when a job or evaluation starts, pauses or ends. Requests are signed
          and retried for three days.
        </Empty>
      ) : (
        <>
          <DataTable
            label="Webhooks"
            columns={columns(selected, acts)}
            rows={rows}
            rowKey={(one) => one.id}
            expected={2}
          />
          <div className={styles.bar}>{add}</div>
          {selected && !selected.enabled && (
            <Notice
              tone={selected.disabled_reason ? "warn" : "info"}
              title={`${short(selected.url)} is ${stateWords(selected)}`}
            >
              This webhook is disabled. After you enable it, it receives new events only.
            </Notice>
          )}
          {selected && (
            <Deliveries
              key={selected.id}
              of={selected}
              open={place.delivery}
              onOpen={(delivery) => onPlace({ tab: "webhooks", webhook: selected.id, delivery })}
            />
          )}
        </>
      )}
      {form && <WebhookForm {...(form.of && { webhook: form.of })} onClose={() => setForm(undefined)} />}
      {rotate.data && (
        <WebhookSecret title="New secret" secret={rotate.data.secret} rotated onClose={rotate.reset} />
      )}
      {deleting && (
        <Confirm
          opened
          onClose={() => setDeleting(undefined)}
          title={`Delete webhook to ${short(deleting.url)}?`}
          action="Delete webhook"
          busy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate(deleting.id, { onSuccess: deleted })}
        >
          <p>Its log and its pending deliveries are deleted, and its secret cannot be used again.</p>
        </Confirm>
      )}
    </>
  );
}
