import { TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useMemo, useState } from "react";
import { ApiError } from "@/api/client";
import type { JobForm, JobProblem } from "@/api/job-form";
import {
  type SweepBody,
  type SweepDetail,
  sweepCheckQuery,
  useCreateSweep,
  useSweepCheck,
} from "@/api/sweeps";
import { CopyAs } from "@/components/CopyAs";
import { Failure } from "@/components/Failure";
import page from "@/components/FormPage.module.css";
import { GatedButton } from "@/components/GatedButton";
import { Problems } from "@/components/Problems";
import { count } from "@/lib/format";
import type { JsonObject } from "@/lib/paths";
import { useSingleFlight } from "@/lib/single-flight";
import { BaseSection } from "./BaseSection";
import { type OwnProblem, placed, type SweepDraft, toSweep } from "./draft";
import { variableFields } from "./fields";
import { type SweepForm as Form, focusPlace, placeId, SweepFormProvider } from "./form";
import { LimitsSection } from "./LimitsSection";
import { MethodSection } from "./MethodSection";
import { Preview } from "./Preview";
import { VariedSection } from "./VariedSection";

const TYPING_MS = 400;

type Props = {
  form: JobForm;
  draft: SweepDraft;
  change: (how: (old: SweepDraft) => SweepDraft) => void;
  refusal: string | null;
  onJob: (id: string | undefined) => void;
  onCreated: (sweep: SweepDetail) => void;
};

/** The server's problems of a refused sweep. */
const problemsOf = (error: ApiError): JobProblem[] =>
  error.errors.length > 0
    ? error.errors.map(({ param, message }) => ({ param, message }))
    : [{ param: error.param, message: error.message, hint: error.hint }];

/** Problems of the form itself, and the server's once there are none of those. */
function useProblems(draft: SweepDraft, body: SweepBody, own: readonly OwnProblem[]) {
  const [insisting, setInsisting] = useState(false);
  const [refused, setRefused] = useState<{ body: SweepBody; problems: JobProblem[] } | null>(null);
  const key = JSON.stringify(body);
  const [typed] = useDebouncedValue(key, TYPING_MS);
  const typedBody = useMemo(() => JSON.parse(typed) as SweepBody, [typed]);
  const query = useQuery({ ...sweepCheckQuery(typedBody), enabled: own.length === 0 });
  const check = own.length === 0 ? query.data : undefined;
  const current = check !== undefined && typed === key && !query.isPlaceholderData;
  const visible = useMemo(() => {
    const listed: JobProblem[] = own.filter((one) => insisting || !one.missing);
    const theirs = [...(refused?.body === body ? refused.problems : []), ...(check?.problems ?? [])];
    return placed([...listed, ...(own.length > 0 ? [] : theirs)], draft);
  }, [own, insisting, refused, body, check, draft]);
  return {
    check,
    failure: own.length === 0 && query.isError ? query.error : null,
    clean: current && check.ok,
    visible,
    insist: () => setInsisting(true),
    refuse: (problems: JobProblem[]) => setRefused({ body, problems }),
  };
}

/** In a list of choices Enter takes one. It starts no jobs where there is none to take. */
const keepEnter = (event: KeyboardEvent) => {
  if (event.key === "Enter" && (event.target as Element).matches("[role=combobox], [aria-haspopup=listbox]"))
    event.preventDefault();
};

/** One column from the job to the budget, with the number of jobs beside it. */
export function SweepForm({ form, draft, change, refusal, onJob, onCreated }: Props) {
  const base = draft.base?.spec;
  const fields = useMemo(() => variableFields(form, base ?? {}), [form, base]);
  const { body, problems } = useMemo(() => toSweep(draft, fields), [draft, fields]);
  const { check, failure, clean, visible, insist, refuse } = useProblems(draft, body, problems);
  const checkFirst = useSweepCheck();
  const create = useCreateSweep();
  const once = useSingleFlight();
  const total = [...visible.values()].flat().length;
  const focusFirst = (places: ReadonlyMap<string, unknown>) => {
    const [first] = places.keys();
    if (first !== undefined) focusPlace(first);
  };

  const show = (list: JobProblem[]) => {
    refuse(list);
    requestAnimationFrame(() => focusFirst(placed(list, draft)));
  };

  /** Starts the sweep once the check of these very values passes: the last answer may be about earlier ones. */
  const start = async () => {
    insist();
    const open = placed(problems, draft);
    if (open.size > 0 || refusal) return requestAnimationFrame(() => focusFirst(open));
    try {
      const answer = await checkFirst.mutateAsync(body);
      if (!answer.ok) return show(answer.problems ?? []);
      onCreated(await create.mutateAsync(body));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status >= 400 && error.status < 500) show(problemsOf(error));
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void once(async () => void (await start()));
  };

  const value: Form = {
    draft,
    set: (part) => change((old) => ({ ...old, ...part })),
    fields,
    presets: form.presets,
    problems: visible,
    readOnly: refusal !== null,
  };
  return (
    <SweepFormProvider value={value}>
      <form className={page.layout} onSubmit={submit} onKeyDown={keepEnter} noValidate>
        <div className={page.form}>
          <BaseSection onJob={onJob} />
          <MethodSection />
          <VariedSection />
          <LimitsSection />
          <TextInput
            id={placeId("name")}
            label="Name"
            inputWrapperOrder={["label", "input", "error", "description"]}
            description="Beginning of the jobs' names."
            placeholder="method and model"
            autoComplete="off"
            disabled={refusal !== null}
            error={visible.get("name")?.[0]?.message}
            value={draft.name}
            onChange={(event) => value.set({ name: event.currentTarget.value })}
          />
        </div>
        <Preview check={check}>
          <div className={page.starter}>
            {create.error ? (
              <Failure title="Could not start the sweep" error={create.error} />
            ) : (
              failure && <Failure title="Could not check the sweep" error={failure} />
            )}
            <div id={placeId("")} tabIndex={-1}>
              <Problems problems={visible.get("")} />
            </div>
            <div role="status" className={page.verdict} data-clean={clean || undefined}>
              {total > 0 ? (
                <button type="button" className={page.jump} onClick={() => focusFirst(visible)}>
                  {count(total, "problem")}: show the first
                </button>
              ) : clean ? (
                "All fields are valid. A worker checks the first jobs before the start."
              ) : (
                ""
              )}
            </div>
            <GatedButton
              type="submit"
              refusal={refusal}
              loading={checkFirst.isPending || create.isPending}
              fullWidth
            >
              Start sweep
            </GatedButton>
          </div>
          <CopyAs spec={body as JsonObject} ready={problems.length === 0} what="sweep" />
        </Preview>
      </form>
    </SweepFormProvider>
  );
}
