import { useQuery } from "@tanstack/react-query";
import { type FormEvent, lazy, Suspense, useEffect, useMemo, useRef, useState } from "react";
import { ApiError } from "@/api/client";
import { type JobProblem, useFullCheck } from "@/api/job-form";
import { type JobDetail, type JobSpec, useCreateJob } from "@/api/jobs";
import { modelsQuery } from "@/api/models";
import { useStartPreflight } from "@/api/preflights";
import { CopyAs } from "@/components/CopyAs";
import page from "@/components/FormPage.module.css";
import { Notice } from "@/components/Notice";
import { Problems } from "@/components/Problems";
import { SkeletonCard } from "@/components/Skeleton";
import { same, setAt } from "@/lib/paths";
import { useSingleFlight } from "@/lib/single-flight";
import { assign } from "@/lib/spec-fields";
import { type Basis, type Draft, modelOf, toSpec } from "./draft";
import { EnvironmentSection } from "./environment/EnvironmentSection";
import { firstProblem, focusField } from "./focus";
import { type Form, FormProvider, useFields } from "./form";
import { MethodSection } from "./method/MethodSection";
import { type Placed, refusal as refusalOf } from "./problems";
import { Starter } from "./Starter";
import { Advanced } from "./sections/Advanced";
import { DataSection } from "./sections/DataSection";
import { Essentials } from "./sections/Essentials";
import { ModelSection } from "./sections/ModelSection";
import { RewardSection } from "./sections/RewardSection";
import { useStartAdapter } from "./start-adapter";
import { saveDraft } from "./storage";
import { withFallbacks, withSuggested } from "./suggested/suggested";
import { useSuggested } from "./suggested/use-suggested";
import { Summary } from "./summary/Summary";
import { useCheck } from "./summary/use-check";
import { countOf, useProblems } from "./use-problems";
import { useUsualModel } from "./usual-model";

const PreflightPanel = lazy(() => import("./preflight/PreflightPanel"));

type Props = {
  basis: Basis;
  draft: Draft;
  change: (how: (old: Draft) => Draft) => void;
  refusal: string | null;
  /** The pre-flight that is shown. */
  preflight: string | undefined;
  onPreflight: (id: string | undefined) => void;
  onCreated: (job: JobDetail) => void;
};

/** One column from the base model to the numbers, with the summary beside it all the time. */
export function JobForm(props: Props) {
  const { basis, draft, change, refusal, preflight, onPreflight, onCreated } = props;
  const [open, setOpen] = useState(false);
  const whole = useRef<HTMLDivElement>(null);
  const models = useQuery(modelsQuery).data?.data;
  const adapter = useStartAdapter(modelOf(draft));
  const model = models?.find((one) => one.id === (adapter?.model ?? modelOf(draft)));
  const { suggested, pending } = useSuggested(basis, draft, preflight);
  const plain = useFields(basis, draft);
  const fields = useMemo(() => withFallbacks(plain, suggested), [plain, suggested]);
  const byPath = useMemo(() => new Map(fields.map((field) => [field.path, field])), [fields]);
  const newest = useMemo(() => toSpec(basis, withSuggested(draft, suggested)), [basis, draft, suggested]);
  // Answers about a specification hold while it says the same.
  const [spec, setSpec] = useState(newest);
  if (!same(spec, newest)) setSpec(newest);
  const check = useCheck(spec);
  const quick = check.quick.data;
  const full = check.complete ? check.full.data : undefined;
  const checks = useMemo(() => [quick, full], [quick, full]);
  const { complete, placed, visible, insist, tell } = useProblems({ draft, spec, fields, byPath, checks });
  const thorough = useFullCheck();
  const create = useCreateJob();
  const ahead = useStartPreflight();
  const once = useSingleFlight();

  const usual = useUsualModel(models, modelOf(draft) === undefined);
  useEffect(() => {
    if (usual) change((old) => (modelOf(old) ? old : setAt(old, "model", usual)));
  }, [usual, change]);

  const goTo = (path: string) => focusField(path, () => setOpen(true));
  const goToFirst = (problems: Placed) => {
    const path = firstProblem(problems, fields);
    // Problems of no field stand in a notice that may only now be drawn.
    if (path) goTo(path);
    else requestAnimationFrame(() => whole.current?.focus());
  };
  const show = (problems: readonly JobProblem[]) => goToFirst(tell(problems));

  /** The full check of the form's values; false if it finds problems. */
  const examine = async (): Promise<boolean> => {
    insist();
    // Until the next answer is there, the server's last one is about what the form said before.
    if (check.pending ? !complete : countOf(placed) > 0) {
      goToFirst(placed);
      return false;
    }
    const answer = await thorough.mutateAsync(spec).catch(() => null);
    if (answer && !answer.ok) show(answer.problems ?? []);
    return answer?.ok === true;
  };

  /** Starts the job once the full check passes; refusals appear at their fields. */
  const send = async (act: (spec: JobSpec) => Promise<void>) => {
    if (refusal || thorough.isPending || !(await examine())) return;
    try {
      await act(spec as unknown as JobSpec);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status >= 400 && error.status < 500) show(refusalOf(error));
    }
  };
  const start = () =>
    send(async (body) => {
      ahead.reset();
      const job = await create.mutateAsync(body);
      saveDraft({});
      onCreated(job);
    });
  const tryAhead = () =>
    send(async (body) => {
      create.reset();
      onPreflight((await ahead.mutateAsync(body)).id);
    });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void once(start);
  };

  const value: Form = {
    basis,
    draft,
    model,
    suggested,
    fields,
    byPath,
    placed: visible,
    change,
    set: (field, next) => change((old) => assign(old, field, next)),
    goTo,
    readOnly: refusal !== null,
  };
  return (
    <FormProvider value={value}>
      <form className={page.layout} onSubmit={submit} noValidate>
        <div className={page.form}>
          <div ref={whole} tabIndex={-1}>
            {visible.elsewhere.length > 0 && (
              <Notice tone="bad" title="Problems of the job">
                <Problems problems={visible.elsewhere} />
              </Notice>
            )}
          </div>
          <ModelSection />
          <DataSection />
          <EnvironmentSection />
          <RewardSection />
          <MethodSection />
          <Essentials />
          <Advanced open={open} onOpen={setOpen} />
          {preflight && (
            <Suspense fallback={<SkeletonCard height={160} label="Loading the pre-flight" />}>
              <PreflightPanel
                key={preflight}
                id={preflight}
                spec={spec}
                draft={draft}
                refusal={refusal}
                onClose={() => onPreflight(undefined)}
              />
            </Suspense>
          )}
        </div>
        <Summary quick={quick} full={full} looking={check.full.isFetching}>
          <Starter
            problems={countOf(visible)}
            error={
              create.error ??
              ahead.error ??
              thorough.error ??
              (check.quick.isError ? check.quick.error : null)
            }
            waiting={pending}
            busy={
              create.isPending
                ? "starting"
                : ahead.isPending
                  ? "preflight"
                  : thorough.isPending
                    ? "checking"
                    : null
            }
            clean={thorough.data?.ok === true && thorough.variables === spec}
            refusal={refusal}
            onCheck={() => void examine()}
            onPreflight={() => void once(tryAhead)}
            onFirst={() => goToFirst(visible)}
          />
          <CopyAs spec={spec} ready={complete} />
        </Summary>
      </form>
    </FormProvider>
  );
}
