import { Button, Checkbox, Group, Modal, Radio, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { ApiError } from "@/api/client";
import { useChangeWebhook, useCreateWebhook, type Webhook, type WebhookEvent } from "@/api/webhooks";
import { Failure } from "@/components/Failure";
import { useSingleFlight } from "@/lib/single-flight";
import { toastDone } from "@/lib/toast";
import styles from "../Settings.module.css";
import { WebhookSecret } from "./WebhookSecret";
import { ALL_EVENTS, EVENTS } from "./webhook-words";

type Props = { webhook?: Webhook; onClose: () => void };

/** A new webhook, whose secret is shown once; or one that is changed. */
export function WebhookForm({ webhook, onClose }: Props) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [description, setDescription] = useState(webhook?.description ?? "");
  const [events, setEvents] = useState<WebhookEvent[]>((webhook?.events as WebhookEvent[]) ?? []);
  const [some, setSome] = useState(events.length > 0);
  const create = useCreateWebhook();
  const change = useChangeWebhook();
  const once = useSingleFlight();
  const error = create.error ?? change.error;
  const fault = error instanceof ApiError && error.param === "url" ? error : null;
  if (create.data)
    return <WebhookSecret title="The new webhook" secret={create.data.secret} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const body = { url: url.trim(), description: description.trim() || null, events: some ? events : [] };
    const changed = () => {
      toastDone("Webhook changed.");
      onClose();
    };
    void once(() =>
      webhook
        ? change.mutateAsync({ id: webhook.id, etag: webhook.etag, ...body }).then(changed, () => undefined)
        : create.mutateAsync(body).catch(() => undefined),
    );
  };
  return (
    <Modal opened onClose={onClose} title={webhook ? "Edit webhook" : "New webhook"} size={520}>
      <form className={styles.form} onSubmit={submit} noValidate>
        <TextInput
          label="URL"
          description="An https or http URL. A 2xx response counts as delivered; redirects are not followed."
          placeholder="https://example.org/hooks/reinforge"
          required
          maxLength={2000}
          spellCheck={false}
          data-autofocus
          value={url}
          error={fault && `${fault.message} ${fault.hint ?? ""}`}
          onChange={(event) => setUrl(event.currentTarget.value)}
        />
        <TextInput
          label="Description"
          maxLength={500}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Radio.Group label="Events" value={some ? "some" : "all"} onChange={(one) => setSome(one === "some")}>
          <Group mt={6} gap={16}>
            <Radio value="all" label="All events" />
            <Radio value="some" label="Selected events" />
          </Group>
        </Radio.Group>
        {some && (
          <Checkbox.Group
            aria-label="Events"
            value={events}
            onChange={(next) => setEvents(next as WebhookEvent[])}
          >
            <div className={styles.scopes}>
              {ALL_EVENTS.map((one) => (
                <Checkbox key={one} value={one} label={one} description={EVENTS[one]} />
              ))}
            </div>
          </Checkbox.Group>
        )}
        {error && !fault && (
          <Failure
            title={webhook ? "Could not save the webhook" : "Could not create the webhook"}
            error={error}
          />
        )}
        <Group justify="flex-end" gap={8}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            type="submit"
            loading={create.isPending || change.isPending}
            disabled={!url.trim() || (some && events.length === 0)}
          >
            {webhook ? "Save" : "Create webhook"}
          </Button>
        </Group>
      </form>
    </Modal>
  );
}
