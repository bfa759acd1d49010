import type { BaseModel } from "@/api/models";
import { ESSENTIALS } from "../essential";
import { ShortField } from "../Field";
import { useForm } from "../form";
import { autoText, LEARNING_RATE } from "../learning-rate";
import styles from "../NewJob.module.css";
import { Section } from "../Section";
import { Reason } from "../suggested/Reason";
import { autoOf } from "../suggested/suggested";

/** How `auto` was computed, and a warning if it was not measured at this size. */
function AutoReason({ model }: { model: BaseModel | undefined }) {
  const auto = model?.auto_learning_rate;
  if (!auto) return null;
  const text = `auto for this model: ${auto.reason}`;
  return <span className={styles.reason}>{auto.measured ? text : <b>{text}</b>}</span>;
}

/** Step five: the few numbers that most jobs need. */
export function Essentials() {
  const { model, suggested } = useForm();
  return (
    <Section id="essentials" title="Training" about="Empty fields use the value shown.">
      <div className={styles.numbers}>
        {ESSENTIALS.map(([path, label, about]) => (
          <ShortField
            key={path}
            path={path}
            label={label}
            placeholder={path === LEARNING_RATE ? autoText(model) : autoOf(suggested, path)}
          >
            {about}
            {path === LEARNING_RATE ? <AutoReason model={model} /> : <Reason path={path} />}
          </ShortField>
        ))}
      </div>
      <ShortField path="name" label="Job name" placeholder="Generated from dataset and model">
        Name in the job list.
      </ShortField>
    </Section>
  );
}
