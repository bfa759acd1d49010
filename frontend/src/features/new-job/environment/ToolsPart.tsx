import { Button, FileButton } from "@mantine/core";
import { Problems } from "@/components/Problems";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import styles from "../NewJob.module.css";
import own from "./Environment.module.css";
import { addSource, isServer, kindOf, SOURCES, type SourceType, sourcesOf } from "./environment";
import { Limits } from "./Limits";
import { SchemaPreview } from "./SchemaPreview";
import { ServerSource } from "./ServerSource";
import { SourceEditor } from "./SourceEditor";
import { TryCall } from "./TryCall";
import { useTools } from "./use-tools";

const ADD: readonly (readonly [SourceType, string])[] = [
  ["python", "Add functions"],
  ["class", "Add a class"],
  ["mcp", "Add an MCP server"],
  ["openenv", "Add an OpenEnv server"],
];

/** Sources of tools, what the model reads of them, a call to try, and limits. */
export function ToolsPart() {
  const { draft, change, readOnly } = useForm();
  const { problems } = useField(SOURCES);
  const sources = sourcesOf(draft);
  const report = useTools(sources, readOnly);
  const open = async (file: File) => {
    const code = await file.text();
    change((old) => addSource(old, kindOf(code), code));
  };
  return (
    <>
      {sources.map((source, index) =>
        isServer(source.type) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: a source's place is its name in the specification
          <ServerSource key={index} source={source} index={index} report={report} />
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a source's place is its name in the specification
          <SourceEditor key={index} source={source} index={index} report={report} />
        ),
      )}
      <div id={fieldId(SOURCES)} tabIndex={-1} className={styles.stack}>
        {!readOnly && (
          <div className={styles.buttons}>
            {ADD.map(([type, label]) => (
              <Button
                key={type}
                variant="default"
                size="compact-sm"
                disabled={sources.length >= 16}
                onClick={() => change((old) => addSource(old, type))}
              >
                {label}
              </Button>
            ))}
            <FileButton accept=".py,text/x-python" onChange={(file) => file && void open(file)}>
              {(button) => (
                <Button variant="default" size="compact-sm" disabled={sources.length >= 16} {...button}>
                  Open a .py file
                </Button>
              )}
            </FileButton>
          </div>
        )}
        <Problems problems={problems} />
      </div>
      {sources.length > 0 && !readOnly && (
        <div className={own.panes}>
          <SchemaPreview report={report} />
          <TryCall report={report} />
        </div>
      )}
      <Limits />
    </>
  );
}
