import { Button } from "@mantine/core";
import { valueText } from "@/lib/spec-values";
import { useForm } from "../form";
import styles from "./Suggested.module.css";
import { suggestionOf } from "./suggested";

/** Why the field has its suggested value; beside another value, the way to take it. */
export function Reason({ path }: { path: string }) {
  const { suggested, byPath, set, readOnly } = useForm();
  const suggestion = suggestionOf(suggested, path);
  const field = byPath.get(path);
  if (!suggestion || !field) return null;
  const other = field.value !== undefined && field.value !== suggestion.value;
  const value = valueText(suggestion.value);
  return (
    <span className={styles.reason} data-basis={suggestion.basis}>
      {other && `Suggested: ${value}. `}
      {suggestion.reason}{" "}
      {other && !readOnly && (
        <Button
          className={styles.use}
          variant="transparent"
          size="compact-xs"
          aria-label={`Use ${value}: ${field.label}`}
          onClick={() => set(field, undefined)}
        >
          Use {value}
        </Button>
      )}
    </span>
  );
}
