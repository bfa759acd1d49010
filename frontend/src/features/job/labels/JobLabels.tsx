import { Button, TagsInput, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAccess } from "@/api/access";
import { jobFacetsQuery } from "@/api/job-list";
import { type JobDetail, useUpdateJob } from "@/api/jobs";
import { Failure } from "@/components/Failure";
import { Markdown } from "@/components/Markdown";
import { Tag } from "@/components/Page";
import styles from "./Labels.module.css";

const MOST_TAGS = 20;
const LONGEST_NOTES = 20_000;

/** Tags and notes of a job; people who may edit change both at the same time. */
export function JobLabels({ job }: { job: JobDetail }) {
  const { refusal } = useAccess();
  const [editing, setEditing] = useState(false);
  const empty = job.tags?.length === 0 && !job.notes;
  if (editing) return <Editor job={job} onClose={() => setEditing(false)} />;
  if (empty && refusal) return null;
  return (
    <section className={styles.labels} aria-label="Tags and notes">
      <div className={styles.line}>
        {job.tags?.map((tag) => (
          <Tag key={tag}>#{tag}</Tag>
        ))}
        {!refusal && (
          <Button size="compact-xs" variant="subtle" onClick={() => setEditing(true)}>
            {empty ? "Add tags and notes" : "Edit tags and notes"}
          </Button>
        )}
      </div>
      {job.notes && <Markdown text={job.notes} />}
    </section>
  );
}

function Editor({ job, onClose }: { job: JobDetail; onClose: () => void }) {
  const [tags, setTags] = useState(job.tags ?? []);
  const [notes, setNotes] = useState(job.notes ?? "");
  const [etag] = useState(job.etag);
  const facets = useQuery(jobFacetsQuery).data;
  const update = useUpdateJob(job.id);
  return (
    <form
      className={styles.labels}
      aria-label="Tags and notes"
      onSubmit={(event) => {
        event.preventDefault();
        update.mutate({ etag, tags, notes }, { onSuccess: onClose });
      }}
    >
      <TagsInput
        label="Tags"
        placeholder={tags.length === 0 ? "Enter after a tag" : undefined}
        data={facets?.tags ?? []}
        value={tags}
        onChange={setTags}
        maxTags={MOST_TAGS}
        splitChars={[","]}
        autoFocus
      />
      <Textarea
        label="Notes"
        description="Markdown, without images and HTML"
        autosize
        minRows={3}
        maxRows={16}
        maxLength={LONGEST_NOTES}
        value={notes}
        onChange={(event) => setNotes(event.currentTarget.value)}
      />
      {update.error && <Failure title="Could not save tags and notes" error={update.error} />}
      <div className={styles.line}>
        <Button type="submit" loading={update.isPending}>
          Save
        </Button>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
      </div>
    </form>
  );
}
