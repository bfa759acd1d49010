import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import { jobFormQuery } from "@/api/job-form";
import type { SweepDetail } from "@/api/sweeps";
import { Failure } from "@/components/Failure";
import page from "@/components/FormPage.module.css";
import { Notice } from "@/components/Notice";
import { Page } from "@/components/Page";
import { SkeletonCard } from "@/components/Skeleton";
import { SweepForm } from "./SweepForm";
import { useSweepDraft } from "./use-sweep-draft";

type Props = {
  /** The job that the sweep begins from. */
  from: string | undefined;
  onFrom: (job: string | undefined) => void;
  onCreated: (sweep: SweepDetail) => void;
};

const CRUMBS = [
  <Link key="sweeps" to="/sweeps">
    Sweeps
  </Link>,
  "New sweep",
];

/** The frame of the form for sweeps: the draft, and the fields that it may vary. */
export function NewSweep({ from, onFrom, onCreated }: Props) {
  const { draft, change, startOver, error } = useSweepDraft(from);
  const form = useQuery(jobFormQuery);
  const { refusal } = useAccess();
  const clear = () => {
    startOver();
    onFrom(undefined);
  };
  return (
    <Page
      title="New sweep"
      crumbs={CRUMBS}
      meta={<span className={page.quiet}>Saved in this browser until you start the sweep.</span>}
      actions={
        refusal === null && (
          <Button variant="default" onClick={clear}>
            Start over
          </Button>
        )
      }
    >
      {(refusal || error) && (
        <div className={page.notes}>
          {refusal && (
            <Notice tone="info" title="Read only">
              {refusal}
            </Notice>
          )}
          {error && <Failure title="Could not load the job" error={error} />}
        </div>
      )}
      {form.isError && !form.data && (
        <Failure title="Could not load the form" error={form.error} retry={() => void form.refetch()} />
      )}
      {!form.data && !form.isError && <SkeletonCard height={640} label="Loading the form" />}
      {form.data && (
        <SweepForm
          form={form.data}
          draft={draft}
          change={change}
          refusal={refusal}
          onJob={onFrom}
          onCreated={(sweep) => {
            startOver();
            onCreated(sweep);
          }}
        />
      )}
    </Page>
  );
}
