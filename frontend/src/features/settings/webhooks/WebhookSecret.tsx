import { CopyField } from "@/components/CopyField";
import { ShownOnce } from "../ShownOnce";

type Props = { title: string; secret: string; rotated?: boolean; onClose: () => void };

/** The secret that signs a webhook's deliveries, this once. */
export function WebhookSecret({ title, secret, rotated, onClose }: Props) {
  return (
    <ShownOnce title={title} onClose={onClose}>
      <p>
        Deliveries are signed with this secret, as Standard Webhooks has it: any of its libraries, and the
        OpenAI SDKs, check the signature. Copy it now: it is not shown again.
        {rotated && " For 24 hours the old one signs beside it."}
      </p>
      <CopyField label="Secret of the webhook" text={secret} copy="Copy the secret" />
    </ShownOnce>
  );
}
