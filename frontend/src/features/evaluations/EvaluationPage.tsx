import { Progress } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useAccess } from "@/api/access";
import {
  type Evaluation,
  evaluationQuery,
  scoresQuery,
  useCancelEvaluation,
  useResumeEvaluation,
} from "@/api/evaluations";
import { ButtonLink } from "@/components/ButtonLink";
import { Crumb } from "@/components/Crumb";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";
import { Notice } from "@/components/Notice";
import { Page, Tag } from "@/components/Page";
import { Skeleton } from "@/components/Skeleton";
import { Snippets } from "@/components/Snippets";
import { StatePill } from "@/components/StatePill";
import { count, number } from "@/lib/format";
import { commands } from "./commands";
import styles from "./Evaluations.module.css";
import type { Place } from "./place";
import { Results } from "./Results";
import { useAdapterNames } from "./use-names";
import { policyWords, titleOf } from "./words";

type Props = { id: string; place: Place; onPlace: (place: Place) => void };

function Running({ of, refusal }: { of: Evaluation; refusal: string | null }) {
  const cancel = useCancelEvaluation();
  return (
    <div className={styles.running}>
      <Progress value={(100 * of.done) / Math.max(1, of.total)} aria-label="Evaluation" />
      <p role="status">
        {number(of.done, 6)} of {count(of.total, "completion")} sampled and scored. The evaluation continues
        when you close this page or restart the server.
      </p>
      <GatedButton
        variant="default"
        size="compact-sm"
        refusal={refusal}
        loading={cancel.isPending}
        onClick={() => cancel.mutate(of.id)}
      >
        Cancel
      </GatedButton>
      {cancel.error && <Failure title="Could not cancel the evaluation" error={cancel.error} />}
    </div>
  );
}

function Stopped({ of, refusal }: { of: Evaluation; refusal: string | null }) {
  const resume = useResumeEvaluation();
  const { error } = of;
  return (
    <>
      <Notice
        tone={error ? "bad" : "info"}
        title={of.status === "failed" ? "Evaluation failed" : "Evaluation cancelled"}
        action={
          <GatedButton
            variant="default"
            refusal={refusal}
            loading={resume.isPending}
            onClick={() => resume.mutate(of.id)}
          >
            Resume
          </GatedButton>
        }
      >
        {error && `${error.message} ${error.hint ?? ""} `}
        {`${number(of.done, 6)} of ${count(of.total, "completion")} are done. You can resume it.`}
      </Notice>
      {resume.error && <Failure title="Could not resume the evaluation" error={resume.error} />}
    </>
  );
}

/** One stand-alone evaluation: how far it is, what it came to, every row, and another one beside it. */
export function EvaluationPage({ id, place, onPlace }: Props) {
  const { refusal } = useAccess();
  const query = useQuery(evaluationQuery(id));
  const one = query.data;
  const ended = one?.status === "succeeded";
  const scores = useQuery({ ...scoresQuery(id), enabled: ended });
  const adapters = useAdapterNames();
  const crumbs = [
    <Link key="all" to="/evaluations">
      Evaluations
    </Link>,
    <Crumb key="evaluation" id={id} name={one && titleOf(one, adapters)} />,
  ];
  if (query.isError && !one)
    return (
      <Page title="Evaluation" crumbs={crumbs}>
        <Failure
          title="Could not load the evaluation"
          error={query.error}
          retry={() => void query.refetch()}
        />
      </Page>
    );
  if (!one)
    return (
      <Page title="Evaluation" crumbs={crumbs} meta={<Skeleton width={320} height={22} />}>
        <div role="status" aria-label="Loading" aria-busy>
          <Skeleton height={160} />
        </div>
      </Page>
    );
  const { settings } = one;
  const facts = [
    policyWords(one, adapters),
    `${one.reward}${one.revision ? `, revision ${one.revision}` : ""}`,
    settings?.split === "all" ? "" : settings?.split === "train" ? "training rows" : "held-out rows",
    settings ? `${settings.samples_per_row} per row` : "",
    settings ? `temperature ${number(settings.temperature)}` : "",
  ].filter(Boolean);
  const meta = (
    <>
      <StatePill state={one.status} />
      {facts.map((fact) => (
        <Tag key={fact}>{fact}</Tag>
      ))}
    </>
  );
  const actions = (
    <>
      {one.dataset && (
        <ButtonLink to="/datasets/$id" params={{ id: one.dataset }} variant="default">
          Dataset
        </ButtonLink>
      )}
      {one.stored && (
        <ButtonLink to="/rewards/$id" params={{ id: one.stored }} variant="default">
          Reward
        </ButtonLink>
      )}
      {refusal ? (
        <GatedButton refusal={refusal} variant="default">
          Duplicate and edit…
        </GatedButton>
      ) : (
        <ButtonLink to="/evaluations/new" search={{ like: id }} variant="default">
          Duplicate and edit…
        </ButtonLink>
      )}
    </>
  );
  return (
    <Page title={titleOf(one, adapters)} crumbs={crumbs} meta={meta} actions={actions}>
      <div className={styles.page}>
        {one.status === "running" && <Running of={one} refusal={refusal} />}
        {(one.status === "failed" || one.status === "cancelled") && <Stopped of={one} refusal={refusal} />}
        {scores.isError && (
          <Failure title="Could not load rows" error={scores.error} retry={() => void scores.refetch()} />
        )}
        {ended && (
          <Results of={one} scores={scores.data} adapters={adapters} place={place} onPlace={onPlace} />
        )}
        {ended && (
          <section className={styles.part} aria-labelledby="in-ci">
            <h2 id="in-ci">In CI</h2>
            <Snippets of={commands(one, place.against)} />
          </section>
        )}
      </div>
    </Page>
  );
}
