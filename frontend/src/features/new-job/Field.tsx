import { Button } from "@mantine/core";
import type { ReactNode } from "react";
import { Problems } from "@/components/Problems";
import { Control } from "@/components/spec/Control";
import { Path, Words } from "@/components/spec/Words";
import { range, type Field as SpecField } from "@/lib/spec-fields";
import { valueText } from "@/lib/spec-values";
import styles from "./Field.module.css";
import { fieldId } from "./focus";
import { useField, useForm } from "./form";
import { autoText, LEARNING_RATE } from "./learning-rate";
import { Reason } from "./suggested/Reason";
import { autoOf } from "./suggested/suggested";

type Props = {
  path: string;
  label?: string;
  /** In place of the schema's own description. */
  children?: ReactNode;
  where?: string;
  placeholder?: string;
};

/** A field of the short form: label, control, explanation, problems. */
export function ShortField({ path, label, children, where, placeholder }: Props) {
  const { field, problems } = useField(path);
  const { set, readOnly } = useForm();
  if (!field) return null;
  const id = fieldId(path, where);
  return (
    <div className={styles.short}>
      <label htmlFor={id}>{label ?? field.label}</label>
      <Control
        id={id}
        label={label ?? field.label}
        describedBy={`${id}-about`}
        invalid={problems.length > 0}
        disabled={readOnly}
        field={field}
        placeholder={placeholder}
        onChange={(value) => set(field, value)}
      />
      <Problems problems={problems} />
      <small id={`${id}-about`}>{children ?? <Words text={field.description} />}</small>
    </div>
  );
}

function defaultText(field: SpecField, auto: string | undefined): string {
  if (field.required || field.kind === "fixed") return "";
  const value =
    field.fallback == null || valueText(field.fallback) === "" ? "not set" : valueText(field.fallback);
  return `Default: ${auto ?? (value === "{}" ? "none" : value)}`;
}

/** A field of the whole specification: name and path, control, explanation with bounds and default, reset. */
export function LongField({ field }: { field: SpecField }) {
  const { set, readOnly, placed, model, suggested } = useForm();
  const auto = field.path === LEARNING_RATE ? autoText(model, suggested) : autoOf(suggested, field.path);
  const problems = placed.at.get(field.path) ?? [];
  const id = fieldId(field.path, "-all");
  const changed = field.value !== undefined && field.kind !== "fixed";
  const chosen = field.options.find(
    (option) => option.value === String(field.value ?? field.fallback ?? ""),
  )?.description;
  return (
    <div className={styles.long} data-changed={changed || undefined}>
      <div className={styles.name}>
        <label htmlFor={id}>{field.label}</label>
        <Path path={field.path} />
      </div>
      <div className={styles.control}>
        <Control
          id={id}
          label={`${field.label} (${field.path})`}
          describedBy={`${id}-about`}
          invalid={problems.length > 0}
          disabled={readOnly}
          field={field}
          placeholder={auto}
          suggestions={field.path === "adapter.targets" ? model?.lora_targets : undefined}
          onChange={(value) => set(field, value)}
        />
        <Problems problems={problems} />
      </div>
      <div className={styles.about} id={`${id}-about`}>
        <Words
          text={[field.description, ["variant", "fixed"].includes(field.kind) && chosen]
            .filter(Boolean)
            .join(" ")}
        />
        {field.path !== LEARNING_RATE && <Reason path={field.path} />}
        <small>
          {[defaultText(field, auto), range(field)].filter(Boolean).join(" · ")}
          {changed && !readOnly && (
            <Button
              className={styles.reset}
              variant="transparent"
              size="compact-xs"
              aria-label={`Reset ${field.path} to its default`}
              onClick={() => set(field, undefined)}
            >
              Reset
            </Button>
          )}
        </small>
      </div>
    </div>
  );
}
