import { Autocomplete, Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { CodeEditor } from "@/components/code/CodeEditor";
import { Control, NumberText } from "@/components/spec/Control";
import { Words } from "@/components/spec/Words";
import { fieldOf, type Shape } from "@/lib/grader";
import type { Json } from "@/lib/paths";
import { complaint, range } from "@/lib/spec-fields";
import type { Node } from "@/lib/spec-schema";
import { valueText } from "@/lib/spec-values";
import { idOf, useBuilder } from "./context";
import { Formula } from "./Formula";
import styles from "./Grader.module.css";
import { ProblemList } from "./ProblemList";
import { under } from "./problems";
import { TemplateInput } from "./TemplateInput";
import { ValueMap } from "./ValueMap";

type Props = {
  path: string;
  /** The field's key in its object. */
  name: string;
  node: Node;
  shape: Shape;
  required: boolean;
  value: Json | undefined;
  /** The object that it is a field of: a formula names its parts, a judge is no checkpoint. */
  owner: { readonly [key: string]: Json };
  onChange: (value: Json | undefined) => void;
};

const JUDGED = ["score_model", "label_model", "ranking_judge"];
const asksJudge = (name: string, owner: Props["owner"]) =>
  name === "model" && JUDGED.includes(String(owner.type));

/** Two numbers that may be left out together. */
function Pair({
  id,
  label,
  value,
  invalid,
  onChange,
}: {
  id: string;
  label: string;
  value: Json | undefined;
  invalid: boolean;
  onChange: (value: Json | undefined) => void;
}) {
  const { readOnly } = useBuilder();
  const [low, high] = Array.isArray(value) ? (value as Json[]) : [];
  const set = (next: (Json | undefined)[]) =>
    onChange(
      next.every((one) => one === undefined || one === null) ? undefined : next.map((one) => one ?? null),
    );
  const part = (n: 0 | 1, own: Json | undefined) => (
    <NumberText
      id={n === 0 ? id : `${id}-1`}
      label={`${label}, ${n === 0 ? "lowest" : "highest"}`}
      placeholder={n === 0 ? "lowest" : "highest"}
      invalid={invalid}
      disabled={readOnly}
      value={own ?? undefined}
      onChange={(next) => set(n === 0 ? [next, high] : [low, next])}
    />
  );
  return (
    <div className={styles.pair}>
      {part(0, low)}
      {part(1, high)}
    </div>
  );
}

function Input(props: Props & { id: string; label: string; describedBy: string; invalid: boolean }) {
  const { id, label, describedBy, invalid, name, node, shape, required, value, owner, onChange } = props;
  const { readOnly, judges } = useBuilder();
  const field = fieldOf(name, node, value, required);
  const placeholder = required ? "" : field.fallback == null ? "not set" : valueText(field.fallback);
  const common = { id, label, describedBy, invalid, value, onChange };
  if (shape.kind === "template") return <TemplateInput {...common} placeholder={placeholder} />;
  if (shape.kind === "values") return <ValueMap {...common} />;
  if (shape.kind === "formula") return <Formula {...common} parts={owner.graders} />;
  if (shape.kind === "code")
    return (
      <div className={styles.code} id={id}>
        <CodeEditor
          label={label}
          describedBy={describedBy}
          value={typeof value === "string" ? value : ""}
          onChange={onChange}
          readOnly={readOnly}
        />
      </div>
    );
  if (field.kind === "tuple" && !Array.isArray(field.fallback)) return <Pair {...common} />;
  if (asksJudge(name, owner))
    return (
      <Autocomplete
        id={id}
        aria-label={label}
        aria-describedby={describedBy}
        error={invalid}
        disabled={readOnly}
        data={[...judges]}
        placeholder={judges.length > 0 ? "Choose a judge" : "Judge name"}
        value={typeof value === "string" ? value : ""}
        onChange={(next) => onChange(next === "" ? undefined : next)}
      />
    );
  return (
    <Control
      id={id}
      label={label}
      describedBy={describedBy}
      invalid={invalid}
      disabled={readOnly}
      field={field}
      placeholder={placeholder}
      onChange={(next) => onChange(typed(next, field.kind))}
    />
  );
}

/** Choices answer text; a switch is a boolean in JSON. */
const typed = (value: Json | undefined, kind: string): Json | undefined =>
  kind === "boolean" && (value === "true" || value === "false") ? value === "true" : value;

/** One field: name, control, what is wrong with it, what it means with its range and default. */
export function GraderField(props: Props) {
  const { path, name, node, required, value, onChange } = props;
  const { problems, readOnly, judges } = useBuilder();
  const judged = asksJudge(name, props.owner);
  const id = idOf(path);
  const field = fieldOf(name, node, value, required);
  const own = complaint(field);
  const messages = own ? [{ message: own, field: path }] : under(problems, path);
  const fallback = required || field.fallback == null ? "" : valueText(field.fallback);
  const notes = [
    fallback !== "" && fallback !== "{}" && `Default: ${fallback.trim() || "a line break"}`,
    range(field),
  ];
  return (
    <div className={styles.field} data-kind={props.shape.kind}>
      <label htmlFor={id}>{field.label}</label>
      <Input
        {...props}
        id={id}
        label={field.label}
        describedBy={`${id}-about`}
        invalid={messages.length > 0}
      />
      <ProblemList problems={messages} />
      <small id={`${id}-about`}>
        <Words text={field.description} />{" "}
        {judged && judges.length === 0 && <Link to="/settings">Add a judge in Settings</Link>}
        {notes.filter(Boolean).join(" · ")}
        {!required && value !== undefined && !readOnly && (
          <Button
            variant="transparent"
            size="compact-xs"
            className={styles.reset}
            aria-label={`Reset ${path} to its default`}
            onClick={() => onChange(undefined)}
          >
            Reset
          </Button>
        )}
      </small>
    </div>
  );
}
