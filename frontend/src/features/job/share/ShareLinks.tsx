import { Button, Checkbox, Group, Modal, Select, Stack } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import type { JobDetail } from "@/api/jobs";
import { type JobShare, sharesQuery, useCreateShare, useRevokeShare } from "@/api/shares";
import { CopyField } from "@/components/CopyField";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { count, date } from "@/lib/format";
import styles from "./ShareLinks.module.css";

/** Prompts of a link that includes completions. */
const SAMPLES = 8;
const COPIED_MS = 3_600_000;
const LIFETIMES = [
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "never", label: "until revoked" },
];

function ShareRow({ share, job, refusal }: { share: JobShare; job: string; refusal: string | null }) {
  const revoke = useRevokeShare(job);
  const content = share.samples > 0 ? `with ${count(share.samples, "prompt")}` : "without completions";
  const end = share.expires_at ? `until ${date(share.expires_at)}` : "until revoked";
  return (
    <li className={styles.row}>
      <span>
        {share.active ? "" : "Ended: "}
        {content}, {end}
        <small>
          {share.created_by}, {date(share.created_at)}
        </small>
      </span>
      <GatedButton
        size="compact-sm"
        variant="default"
        refusal={refusal}
        loading={revoke.isPending}
        aria-label={`Revoke the link of ${share.created_by}, ${date(share.created_at)}`}
        onClick={() => revoke.mutate(share.id)}
      >
        Revoke
      </GatedButton>
      {revoke.error && <Failure title="Could not revoke the link" error={revoke.error} />}
    </li>
  );
}

/** Links that show a job without sign-in: says what they show, creates and revokes them. */
export function ShareLinks({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const { refusal } = useAccess();
  const shares = useQuery(sharesQuery(job.id));
  const create = useCreateShare(job.id);
  const [withSamples, setWithSamples] = useState(false);
  const [lifetime, setLifetime] = useState("30");
  const clipboard = useClipboard({ timeout: COPIED_MS });
  const submit = () => {
    const body = {
      samples: withSamples ? SAMPLES : 0,
      expires_in_days: lifetime === "never" ? null : Number(lifetime),
    };
    clipboard.reset();
    create.mutate(body, { onSuccess: ({ url }) => clipboard.copy(url) });
  };
  return (
    <Modal opened onClose={onClose} title="Links without sign-in" size="lg">
      <Stack gap="sm">
        <p className={styles.text}>
          Everybody who has the link can read this job's verdict, charts, held-out table, notes and
          configuration, also while it runs. They can change nothing and see nothing else of the project. The
          link ends when you revoke it, when the job is deleted, and when you leave the project.
        </p>
        <Checkbox
          label={`Also show ${SAMPLES} prompts with sample completions`}
          checked={withSamples}
          onChange={(event) => setWithSamples(event.currentTarget.checked)}
        />
        <Group align="end">
          <Select
            label="Valid for"
            w={160}
            data={LIFETIMES}
            value={lifetime}
            onChange={(value) => setLifetime(value ?? "30")}
          />
          <GatedButton refusal={refusal} loading={create.isPending} onClick={submit}>
            Create and copy link
          </GatedButton>
        </Group>
        {create.error && <Failure title="Could not create the link" error={create.error} />}
        {create.data && (
          <div role="status">
            <p className={styles.text}>
              {clipboard.copied
                ? "Copied. The link is not shown again."
                : "Copy it now: it is not shown again."}
            </p>
            <CopyField text={create.data.url} label="Share link" copy="Copy link" />
          </div>
        )}
        {shares.isError && (
          <Failure title="Could not load links" error={shares.error} retry={() => void shares.refetch()} />
        )}
        {shares.data && shares.data.data.length > 0 && (
          <ul className={styles.list} aria-label="Links of this job">
            {shares.data.data.map((share) => (
              <ShareRow key={share.id} share={share} job={job.id} refusal={refusal} />
            ))}
          </ul>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
