import type { Method } from "@/api/sweeps";
import { NumberText } from "@/components/spec/Control";
import { searches } from "./draft";
import { placeId, useSweepForm } from "./form";
import styles from "./NewSweep.module.css";
import { Problems } from "./Problems";

const METHODS: { method: Method; title: string; about: string }[] = [
  { method: "grid", title: "Grid", about: "Runs every combination of the values." },
  { method: "random", title: "Random", about: "Runs combinations that are drawn at random." },
  {
    method: "tpe",
    title: "TPE (Optuna)",
    about: "Learns from the jobs that have ended which values to try next.",
  },
  {
    method: "ladder",
    title: "Ablation ladder",
    about: "Runs the job unchanged, then with one more of the settings each time.",
  },
];

/** How the settings of the jobs are chosen. */
export function MethodSection() {
  const { draft, set, problems, readOnly } = useSweepForm();
  return (
    <section className={styles.part} aria-labelledby="part-method">
      <h2 id="part-method">Method</h2>
      <div className={styles.cards} role="radiogroup" aria-labelledby="part-method">
        {METHODS.map(({ method, title, about }) => (
          <label key={method} className={styles.card}>
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
          <div className={styles.short}>
            <label htmlFor={placeId("trials")}>Combinations to try</label>
            <NumberText
              id={placeId("trials")}
              label="Combinations to try"
              invalid={problems.has("trials")}
              disabled={readOnly}
              placeholder="such as 30"
              value={draft.trials}
              onChange={(trials) => set({ trials })}
            />
            <Problems problems={problems.get("trials")} />
          </div>
          <div className={styles.short}>
            <label htmlFor={placeId("seed")}>Seed of the choice</label>
            <NumberText
              id={placeId("seed")}
              label="Seed of the choice"
              invalid={problems.has("seed")}
              disabled={readOnly}
              placeholder="0"
              value={draft.seed}
              onChange={(seed) => set({ seed })}
            />
            <Problems problems={problems.get("seed")} />
          </div>
        </div>
      )}
    </section>
  );
}
