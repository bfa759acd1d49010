import type { ReactNode } from "react";
import { Problems } from "@/components/Problems";
import { NumberText } from "@/components/spec/Control";
import type { NumberName, SweepDraft } from "./draft";
import { placeId, useSweepForm } from "./form";
import styles from "./NewSweep.module.css";

type Props = { name: NumberName; place: string; label: string; placeholder: string; children?: ReactNode };

/** A number of the sweep with its problems and what it does. */
export function NumberField({ name, place, label, placeholder, children }: Props) {
  const { draft, set, problems, readOnly } = useSweepForm();
  const id = placeId(place);
  return (
    <div className={styles.short}>
      <label htmlFor={id}>{label}</label>
      <NumberText
        id={id}
        label={label}
        describedBy={`${id}-problems ${id}-about`}
        invalid={problems.has(place)}
        disabled={readOnly}
        placeholder={placeholder}
        value={draft[name]}
        onChange={(value) => set({ [name]: value } as Partial<SweepDraft>)}
      />
      <Problems id={`${id}-problems`} problems={problems.get(place)} />
      {children && <small id={`${id}-about`}>{children}</small>}
    </div>
  );
}
