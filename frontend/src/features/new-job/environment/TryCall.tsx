import { Button, NativeSelect, Textarea, TextInput } from "@mantine/core";
import { useState } from "react";
import { type ToolRunResult, useRunTools } from "@/api/tools";
import { Failure } from "@/components/Failure";
import { ToolCall } from "@/components/ToolCall";
import { getAt, type JsonObject } from "@/lib/paths";
import { modelOf } from "../draft";
import { useForm } from "../form";
import styles from "./Environment.module.css";
import { argumentsText, type CheckSource, type Parameter, parametersOf, sourcesOf } from "./environment";
import { RowChoice, useRow } from "./RowChoice";
import type { ToolsReport } from "./use-tools";

type FieldProps = { parameter: Parameter; value: string; onChange: (value: string) => void };

/** The control of one argument; empty optional ones are not sent. */
function ArgumentField({ parameter, value, onChange }: FieldProps) {
  const { name, description, required, kind, choices, placeholder } = parameter;
  const label = { label: name, description: description || undefined, required, withAsterisk: required };
  if (kind === "choice" || kind === "boolean") {
    const options = kind === "boolean" ? ["true", "false"] : choices;
    return (
      <NativeSelect
        {...label}
        value={value}
        data={[{ value: "", label: required ? "Choose" : placeholder }, ...options]}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  const common = { ...label, placeholder, value, autoComplete: "off" };
  return kind === "json" ? (
    <Textarea
      {...common}
      autosize
      minRows={1}
      maxRows={6}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  ) : (
    <TextInput
      {...common}
      inputMode={kind === "number" ? "decimal" : undefined}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** The outcome: the call as in a completion, and what only its author reads. */
function Outcome({ result }: { result: ToolRunResult }) {
  const [call] = result.calls ?? [];
  if (!call) return null;
  return (
    <>
      {result.start?.text && (
        <p className={styles.start}>Added to the prompt by reset: {result.start.text}</p>
      )}
      <ToolCall call={call} />
      {call.detail && (
        <section className={styles.detail} aria-label="Traceback and prints" tabIndex={0}>
          <pre>{call.detail}</pre>
        </section>
      )}
    </>
  );
}

/** One call in the sandbox of a worker, with arguments by the schema and a row. */
export function TryCall({ report }: { report: ToolsReport }) {
  const { draft } = useForm();
  const [name, setName] = useState("");
  const [typed, setTyped] = useState<Readonly<Record<string, Readonly<Record<string, string>>>>>({});
  const row = useRow(draft);
  const run = useRunTools();
  const { tools } = report;
  const chosen = tools.find(({ tool }) => tool.function.name === name) ?? tools[0];
  const schema = chosen?.tool.function;
  const parameters = parametersOf(schema?.parameters);
  const source = chosen && sourcesOf(draft)[chosen.source];
  const ready = schema !== undefined && source !== undefined && row.item !== null && report.current;

  const start = () => {
    if (!ready) return;
    const limits = getAt(draft, "environment.max_result_tokens");
    run.mutate({
      environment: {
        type: "tools",
        sources: [source as unknown as CheckSource],
        ...(typeof limits === "number" && { max_result_tokens: limits }),
      },
      calls: [{ name: schema.name, arguments: argumentsText(parameters, typed[schema.name] ?? {}) }],
      item: row.item as JsonObject,
      model: modelOf(draft),
      start: source.type === "class",
    });
  };
  return (
    <section className={styles.card} aria-labelledby="try-a-call">
      <h3 id="try-a-call">Try a call</h3>
      {!schema ? (
        <p>Once a source has a tool, you can run it here in the sandbox of a worker.</p>
      ) : (
        // biome-ignore lint/a11y/useSemanticElements: the form around it is the job's
        <div
          className={styles.try}
          role="group"
          aria-labelledby="try-a-call"
          onKeyDown={(event) => {
            if (event.key !== "Enter" || !(event.target instanceof HTMLInputElement)) return;
            event.preventDefault();
            start();
          }}
        >
          <NativeSelect
            label="Tool"
            value={schema.name}
            data={tools.map(({ tool }) => tool.function.name)}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          {parameters.map((parameter) => (
            <ArgumentField
              key={`${schema.name} ${parameter.name}`}
              parameter={parameter}
              value={typed[schema.name]?.[parameter.name] ?? ""}
              onChange={(value) =>
                setTyped((old) => ({
                  ...old,
                  [schema.name]: { ...old[schema.name], [parameter.name]: value },
                }))
              }
            />
          ))}
          <RowChoice row={row} />
          <Button variant="default" w="fit-content" loading={run.isPending} disabled={!ready} onClick={start}>
            Run
          </Button>
          <div role="status" aria-label="Result of the call" className={styles.try}>
            {run.data && !run.isPending && <Outcome result={run.data} />}
          </div>
          {run.isError && <Failure title="Could not run the call" error={run.error} />}
        </div>
      )}
    </section>
  );
}
