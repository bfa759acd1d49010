import { CopyField } from "@/components/CopyField";
import { SecretDialog } from "../SecretDialog";

type Props = { title: string; secret: string; rotated?: boolean; onClose: () => void };

/** The secret that signs a webhook's deliveries, this once. */
export function WebhookSecret({ title, secret, rotated, onClose }: Props) {
  return (
    <SecretDialog title={title} onClose={onClose}>
      <p>
        Deliveries are signed with this secret according to Standard Webhooks. Its libraries and the OpenAI
        SDKs can verify the signature. Copy it now: it is not shown again.
        {rotated && " For 24 hours deliveries are also signed with the old secret."}
      </p>
      <CopyField label="Webhook secret" text={secret} copy="Copy secret" />
    </SecretDialog>
  );
}
