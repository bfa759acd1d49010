import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { useAccess } from "@/api/access";
import { jobFormQuery } from "@/api/job-form";
import type { JobDetail } from "@/api/jobs";
import { Failure } from "@/components/Failure";
import page from "@/components/FormPage.module.css";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { SkeletonCard } from "@/components/Skeleton";
import { ago } from "@/lib/format";
import { basisOf } from "./draft";
import { JobForm } from "./JobForm";
import { StartFrom } from "./StartFrom";
import { type Ids, useDraft } from "./use-draft";

type Props = {
  ids: Ids;
  from: string | undefined;
  onIds: (ids: Ids) => void;
  onFrom: (job: string) => void;
  /** The pre-flight that the address names. */
  preflight: string | undefined;
  onPreflight: (id: string | undefined) => void;
  onCreated: (job: JobDetail) => void;
  onExamples: () => void;
  /** The gallery of examples over the form. */
  examples: ReactNode;
};

const CRUMBS = [
  <Link key="jobs" to="/jobs">
    Jobs
  </Link>,
  "New job",
];

/** The frame of the form: the draft, where it came from, and the schema that it is made from. */
export function NewJob(props: Props) {
  const { ids, from, onIds, onFrom, preflight, onPreflight, onCreated, onExamples, examples } = props;
  const { draft, change, startOver, restoredAt, fromError, fromName } = useDraft({ ids, from, onIds });
  const form = useQuery(jobFormQuery);
  const basis = useMemo(() => form.data && basisOf(form.data), [form.data]);
  const { refusal } = useAccess();
  const actions = refusal === null && (
    <>
      <Button variant="default" onClick={onExamples}>
        Start from an example…
      </Button>
      <StartFrom onPick={onFrom} />
      <Button variant="default" onClick={startOver}>
        Start over
      </Button>
    </>
  );
  const origin = fromName
    ? `Started from “${fromName}”.`
    : restoredAt && `Your draft of ${ago(restoredAt)} was restored.`;
  const meta = (
    <span className={page.quiet}>{origin || "Saved in this browser until you start the job."}</span>
  );
  return (
    <Page title="New job" crumbs={CRUMBS} meta={meta} actions={actions}>
      {examples}
      {(refusal || fromError) && (
        <div className={page.notes}>
          {refusal && (
            <Notice tone="info" title="Read only">
              {refusal}
            </Notice>
          )}
          {fromError && <Failure title="Could not load the source job" error={fromError} />}
        </div>
      )}
      {form.isError && !basis && (
        <Failure title="Could not load the form" error={form.error} retry={() => void form.refetch()} />
      )}
      {!basis && !form.isError && <SkeletonCard height={640} label="Loading the form" />}
      {basis && (
        <JobForm
          basis={basis}
          draft={draft}
          change={change}
          refusal={refusal}
          preflight={preflight}
          onPreflight={onPreflight}
          onCreated={onCreated}
        />
      )}
    </Page>
  );
}
