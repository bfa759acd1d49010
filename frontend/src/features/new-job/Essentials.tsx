import { ESSENTIALS } from "./essential";
import { ShortField } from "./Field";
import { useForm } from "./form";
import styles from "./NewJob.module.css";
import { Section } from "./Section";

/** Step five: the few numbers that most jobs need. */
export function Essentials() {
  const { model } = useForm();
  return (
    <Section
      id="essentials"
      title="Training"
      about={`Empty fields take the number shown in them: the default${model ? `, or what suits ${model.id}` : ""}.`}
    >
      <div className={styles.numbers}>
        {ESSENTIALS.map(([path, label, about]) => (
          <ShortField key={path} path={path} label={label}>
            {about}
          </ShortField>
        ))}
      </div>
      <ShortField path="name" label="Name of the job" placeholder="Made from the dataset and the model">
        How the job is listed.
      </ShortField>
    </Section>
  );
}
