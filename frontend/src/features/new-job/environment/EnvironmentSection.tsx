import page from "@/components/FormPage.module.css";
import { Problems } from "@/components/Problems";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import { Section } from "../Section";
import { AgentPart } from "./AgentPart";
import styles from "./Environment.module.css";
import { type EnvironmentType, typeOf, withType } from "./environment";
import { ToolsPart } from "./ToolsPart";

const TYPES: readonly (readonly [EnvironmentType, string, string])[] = [
  ["single_turn", "Single turn", "One prompt, one completion."],
  [
    "tools",
    "Tools",
    "The model calls Python functions, a class or an MCP server over several turns. Code runs in a sandbox on the worker.",
  ],
  [
    "agent",
    "Your own program",
    "Your program runs each rollout and calls the model at an OpenAI-compatible address.",
  ],
];

/** What happens around a completion: nothing, tools, or a program. */
export function EnvironmentSection() {
  const { draft, change, readOnly } = useForm();
  const { problems } = useField("environment");
  const chosen = typeOf(draft);
  return (
    <Section
      id="environment"
      title="Environment"
      about="What the model can do before its completion is scored."
    >
      <div className={styles.types} id={fieldId("environment")} tabIndex={-1}>
        {TYPES.map(([type, title, about]) => (
          <label key={type} className={page.card}>
            <input
              type="radio"
              name="environment"
              value={type}
              checked={type === chosen}
              disabled={readOnly}
              onChange={() => change((old) => withType(old, type))}
            />
            <b>{title}</b>
            <small>{about}</small>
          </label>
        ))}
      </div>
      <Problems problems={problems} />
      {chosen === "tools" && <ToolsPart />}
      {chosen === "agent" && <AgentPart />}
    </Section>
  );
}
