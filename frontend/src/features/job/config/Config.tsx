import { Button, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { jobFormQuery, partsOf } from "@/api/job-form";
import type { JobDetail } from "@/api/jobs";
import { ButtonLink } from "@/components/ButtonLink";
import { CodeBlock } from "@/components/CodeBlock";
import { CopyButton } from "@/components/CopyButton";
import type { JsonObject } from "@/lib/paths";
import { type JsonSchema, ordered, pruned } from "@/lib/spec-schema";
import { toYaml } from "@/lib/yaml";
import styles from "./Config.module.css";
import { flat, type MarkedLine, markedLines } from "./config-lines";

const VIEWS = ["resolved", "given", "different"] as const;
type View = (typeof VIEWS)[number];

const ABOUT: Record<View, string> = {
  resolved: "All settings of the job, with defaults filled in.",
  given: "As submitted.",
  different: "Only values that differ from the defaults; enough to start the same job again.",
};

/** Behind a line: where its value comes from. */
function noteOn(mark: MarkedLine["mark"], was: string): string {
  if (mark !== "filled") return ` # default ${was}`;
  return was === '"auto"' ? " # auto, for this model" : " # found by the server";
}

function Lines({ lines }: { lines: readonly MarkedLine[] }) {
  return (
    <section className={styles.lines} aria-label="Specification" tabIndex={0}>
      <pre>
        {lines.map(({ text, mark, was }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text have no other name
          <span key={i} data-mark={mark ?? undefined}>
            {text}
            {was !== null && <i>{noteOn(mark, was)}</i>}
          </span>
        ))}
      </pre>
    </section>
  );
}

/** The specification: resolved or as given, what differs from the defaults marked; and what was measured. */
export function Config({ job }: { job: JobDetail }) {
  const [chosen, setView] = useState<View>("resolved");
  const [format, setFormat] = useState("yaml");
  const form = useQuery(jobFormQuery).data;
  const basis = useMemo(
    () =>
      form && {
        schema: form.json_schema as JsonSchema,
        presets: partsOf(form.presets),
      },
    [form],
  );
  const submitted = job.spec as JsonObject;
  const view: View = chosen === "resolved" && !job.resolved_spec ? "given" : chosen;
  const spec = useMemo(() => {
    const json = view === "resolved" ? (job.resolved_spec as JsonObject) : submitted;
    if (!basis) return json;
    return view === "different"
      ? pruned(basis.schema, basis.presets, submitted)
      : ordered(basis.schema, json);
  }, [view, basis, submitted, job.resolved_spec]);
  const lines = useMemo(() => markedLines(spec, submitted, basis), [spec, submitted, basis]);
  const text = format === "yaml" ? toYaml(spec) : `${JSON.stringify(spec, null, 2)}\n`;
  const facts = flat(job.facts ?? {});
  return (
    <div className={styles.config}>
      <div className={styles.bar}>
        <SegmentedControl
          aria-label="Specification view"
          value={view}
          onChange={(next) => setView(next as View)}
          data={[
            { value: "resolved", label: "Resolved", disabled: !job.resolved_spec },
            { value: "given", label: "As submitted" },
            { value: "different", label: "Differs from defaults", disabled: !basis },
          ]}
        />
        <SegmentedControl
          aria-label="Format"
          value={format}
          onChange={setFormat}
          data={[
            { value: "yaml", label: "YAML" },
            { value: "json", label: "JSON" },
          ]}
        />
        <span className={styles.gap} />
        <CopyButton text={text} label={`Copy ${format.toUpperCase()}`} />
        <Button
          component="a"
          variant="default"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
          download={`${job.id}.${format}`}
        >
          Download
        </Button>
        <ButtonLink to="/jobs/new" search={{ from: job.id }} variant="default">
          Duplicate job
        </ButtonLink>
        <ButtonLink to="/sweeps/new" search={{ from: job.id }} variant="default">
          Sweep from this job…
        </ButtonLink>
      </div>
      <p className={styles.about}>
        {ABOUT[view]}
        {format === "yaml" && view !== "different" && (
          <>
            {" "}
            <b data-mark="given">Marked</b>: differs from the default.
            {view === "resolved" && (
              <>
                {" "}
                <b data-mark="filled">Dotted</b>: set by the server.
              </>
            )}
          </>
        )}
      </p>
      {format === "yaml" ? <Lines lines={lines} /> : <CodeBlock text={text} label="Specification" />}
      {facts.length > 0 && (
        <>
          <h2>Run environment</h2>
          <dl className={styles.facts}>
            {facts.map(([name, value]) => (
              <div key={name}>
                <dt>{name.replaceAll("_", " ")}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </div>
  );
}
