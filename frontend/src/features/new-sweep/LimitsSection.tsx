import { Checkbox, NativeSelect, TextInput } from "@mantine/core";
import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import type { SweepDraft } from "./draft";
import { placeId, useSweepForm } from "./form";
import styles from "./NewSweep.module.css";
import { NumberField } from "./NumberField";

/** Seeds, how many jobs at a time, what they may use, and which end early. */
export function LimitsSection() {
  const { draft, set, problems, readOnly } = useSweepForm();
  return (
    <section className={page.part} aria-labelledby="part-limits">
      <h2 id="part-limits">Seeds and budget</h2>
      <div className={styles.two}>
        <TextInput
          id={placeId("seeds")}
          label="Seeds"
          inputWrapperOrder={["label", "input", "error", "description"]}
          description="Every setting runs once per seed. Type how many seeds, or a list of seeds separated by commas."
          placeholder="the job's own seed"
          autoComplete="off"
          disabled={readOnly}
          error={problems.get("seeds")?.[0]?.message}
          value={draft.seeds}
          onChange={(event) => set({ seeds: event.currentTarget.value })}
        />
        <NumberField name="parallel" place="parallel" label="Jobs at a time" placeholder="4">
          At most this many are queued or running, so that other jobs get their turn.
        </NumberField>
        <NumberField name="jobs" place="budget.jobs" label="Maximum jobs" placeholder="no limit">
          Running jobs continue when this limit is reached.
        </NumberField>
        <NumberField name="hours" place="budget.seconds" label="Hours of worker time" placeholder="no limit">
          At this limit running jobs are cancelled; their checkpoints remain.
        </NumberField>
        <NumberField name="money" place="budget.money" label="Money" placeholder="no limit">
          Cost of worker time, at the server's price of a GPU hour, and of judges.
        </NumberField>
        <NativeSelect
          id={placeId("objective")}
          label="Compare jobs by"
          disabled={readOnly}
          value={draft.objective}
          data={[
            { value: "last", label: "newest held-out reward" },
            { value: "best", label: "best held-out reward" },
          ]}
          onChange={(event) => set({ objective: event.currentTarget.value as SweepDraft["objective"] })}
        />
      </div>
      <Checkbox
        id={placeId("halving")}
        label="Successive halving"
        description="Ends jobs whose held-out reward is not among the best of those with as many evaluations."
        disabled={readOnly}
        checked={draft.halving}
        onChange={(event) => set({ halving: event.currentTarget.checked })}
      />
      <Problems problems={problems.get("halving")} />
      {draft.halving && (
        <div className={styles.two}>
          <NumberField name="factor" place="halving.factor" label="Factor" placeholder="2">
            The best 1/factor of the jobs continue.
          </NumberField>
          <NumberField
            name="first"
            place="halving.first"
            label="Evaluations before a job can end"
            placeholder="2"
          />
        </div>
      )}
    </section>
  );
}
