import { Button, TextInput } from "@mantine/core";
import { Problems } from "@/components/Problems";
import { ShortField } from "../Field";
import { fieldId } from "../focus";
import { useField, useForm } from "../form";
import form from "../NewJob.module.css";
import styles from "./Environment.module.css";
import { changeSource, isFilled, removeSource, type Source } from "./environment";
import { sourceWords, type ToolsReport } from "./use-tools";

type Props = { source: Source; index: number; report: ToolsReport };

const WORDS = {
  mcp: { title: "MCP server", example: "https://example.com/mcp" },
  openenv: { title: "OpenEnv server", example: "https://example.com/env" },
};

/** A server that offers tools by MCP, or an OpenEnv environment. A worker lists and calls them. */
export function ServerSource({ source, index, report }: Props) {
  const { change, readOnly } = useForm();
  const path = `environment.sources[${index}]`;
  const { problems } = useField(path);
  const address = useField(`${path}.url`);
  const listed = report.problemsOf(index);
  const others = problems.filter(({ code }) => !listed.some((one) => one.code === code));
  const { title, example } = WORDS[source.type === "openenv" ? "openenv" : "mcp"];
  const name = `${title} ${index + 1}`;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for fields, and a section would be a landmark per source
    <div className={styles.pane} id={fieldId(path)} tabIndex={-1} role="group" aria-label={name}>
      <div className={styles.bar}>
        <b>{title}</b>
        {!readOnly && (
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Remove ${name}`}
            onClick={() => change((old) => removeSource(old, index))}
          >
            Remove
          </Button>
        )}
      </div>
      <div className={styles.more}>
        <div>
          <TextInput
            id={fieldId(`${path}.url`)}
            label="Address"
            description="A worker calls it over HTTP, under the address rules of judges. Requests are signed with the secret of the project."
            placeholder={example}
            autoComplete="off"
            disabled={readOnly}
            value={source.url ?? ""}
            error={address.problems.length > 0}
            onChange={(event) => {
              const url = event.currentTarget.value.trim();
              change((old) => changeSource(old, index, { url }));
            }}
          />
          <Problems problems={address.problems} />
        </div>
        <div className={form.two}>
          <ShortField path={`${path}.include`} label="Tools to offer">
            Leave empty to offer all tools that the server lists.
          </ShortField>
          <ShortField path={`${path}.timeout_seconds`} label="Seconds of a request">
            A request that takes longer fails.
          </ShortField>
        </div>
        <Problems problems={others} />
      </div>
      <div className={styles.foot}>
        <span role="status" data-state={listed.length > 0 ? "bad" : undefined}>
          {readOnly ? "Read only" : isFilled(source) ? sourceWords(report, index) : "Enter the address."}
        </span>
      </div>
    </div>
  );
}
