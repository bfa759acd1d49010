import type { Method } from "@/api/sweeps";
import page from "@/components/FormPage.module.css";
import { searches } from "./draft";
import { useSweepForm } from "./form";
import styles from "./NewSweep.module.css";
import { NumberField } from "./NumberField";

const METHODS: { method: Method; title: string; about: string }[] = [
  { method: "grid", title: "Grid", about: "Runs every combination of the values." },
  { method: "random", title: "Random", about: "Runs combinations that are drawn at random." },
  {
    method: "tpe",
    title: "TPE (Optuna)",
    about: "Learns from the jobs that have ended which values to try next.",
  },
  {
    method: "cma_es",
    title: "CMA-ES (Optuna)",
    about:
      "Learns from the jobs that have ended. Use it for interacting numbers, two or more, and at least 30 jobs.",
  },
  {
    method: "ladder",
    title: "Ablation ladder",
    about: "Runs the job unchanged, then with one more of the settings each time.",
  },
];

/** How the settings of the jobs are chosen. */
export function MethodSection() {
  const { draft, set, readOnly } = useSweepForm();
  return (
    <section className={page.part} aria-labelledby="part-method">
      <h2 id="part-method">Method</h2>
      <div className={page.cards} role="radiogroup" aria-labelledby="part-method">
        {METHODS.map(({ method, title, about }) => (
          <label key={method} className={page.card}>
            <input
              type="radio"
              name="part-method"
              disabled={readOnly}
              checked={draft.method === method}
              onChange={() => set({ method })}
            />
            <b>{title}</b>
            <p>{about}</p>
          </label>
        ))}
      </div>
      {searches(draft.method) && (
        <div className={styles.two}>
          <NumberField name="trials" place="trials" label="Combinations to try" placeholder="such as 30" />
          <NumberField name="seed" place="seed" label="Seed of the choice" placeholder="0" />
        </div>
      )}
    </section>
  );
}
