import { getAt } from "@/lib/paths";
import { label } from "@/lib/spec-fields";
import { withPreset } from "./draft";
import { fieldId } from "./focus";
import { useField, useForm } from "./form";
import styles from "./NewJob.module.css";
import { Problems } from "./Problems";
import { Section } from "./Section";

/** Slots that say something else than the preset does. */
export function useChangedSlots(): string[] {
  const { fields } = useForm();
  return fields
    .filter(
      ({ path, value, kind, fallback }) =>
        path.startsWith("algorithm.") &&
        path !== "algorithm.preset" &&
        path !== "algorithm.updates_per_step" &&
        kind !== "fixed" &&
        value !== undefined &&
        value !== fallback,
    )
    .map(({ path }) => label(path).toLowerCase());
}

/** Step four: how rewards become updates. */
export function MethodSection() {
  const { basis, draft, change, readOnly, byPath } = useForm();
  const { problems } = useField("algorithm.preset");
  const changed = useChangedSlots();
  const chosen = getAt(draft, "algorithm.preset") ?? byPath.get("algorithm.preset")?.fallback;
  return (
    <Section
      id="method"
      title="Method"
      about="A preset fills the four slots of the algorithm: shaping, selection, advantage and loss. Each can be changed under Advanced."
    >
      <div className={styles.cards} id={fieldId("algorithm.preset")} tabIndex={-1}>
        {basis.presets.map(({ id, title, summary, source }) => (
          <label key={id} className={styles.card}>
            <input
              type="radio"
              name="preset"
              value={id}
              checked={chosen === id}
              disabled={readOnly}
              onChange={() => change((old) => withPreset(old, id))}
            />
            <b>{title}</b>
            {chosen === id && changed.length > 0 && <em>changed: {changed.join(", ")}</em>}
            <p>{summary}</p>
            <small className={styles.source}>{source}</small>
          </label>
        ))}
      </div>
      <Problems problems={problems} />
    </Section>
  );
}
