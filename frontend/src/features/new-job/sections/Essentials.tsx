import type { BaseModel } from "@/api/models";
import { ESSENTIALS } from "../essential";
import { ShortField } from "../Field";
import { useForm } from "../form";
import { autoReason, autoText, LEARNING_RATE } from "../learning-rate";
import styles from "../NewJob.module.css";
import { Section } from "../Section";
import { Reason } from "../suggested/Reason";
import { autoOf, type Suggested } from "../suggested/suggested";

/** How `auto` was computed; bold if it was not measured at the model's size. */
function AutoReason({ model, suggested }: { model: BaseModel | undefined; suggested: Suggested }) {
  const reason = autoReason(model, suggested);
  if (!reason) return null;
  const measured = model?.auto_learning_rate?.measured ?? false;
  return <span className={styles.reason}>{measured ? reason : <b>{reason}</b>}</span>;
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
            placeholder={path === LEARNING_RATE ? autoText(model, suggested) : autoOf(suggested, path)}
          >
            {about}
            {path === LEARNING_RATE ? (
              <AutoReason model={model} suggested={suggested} />
            ) : (
              <Reason path={path} />
            )}
          </ShortField>
        ))}
      </div>
      <ShortField path="name" label="Job name" placeholder="Generated from dataset and model">
        Name in the job list.
      </ShortField>
    </Section>
  );
}
