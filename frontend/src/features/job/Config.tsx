import { Button, CopyButton, Group, SegmentedControl } from "@mantine/core";
import { useState } from "react";
import type { JobDetail } from "@/api/jobs";
import { CodeBlock } from "@/components/CodeBlock";
import { toYaml } from "@/lib/yaml";

/** The specification as given or resolved, as YAML or JSON, ready to be used again. */
export function Config({ job }: { job: JobDetail }) {
  const [which, setWhich] = useState("given");
  const [format, setFormat] = useState("yaml");
  const spec = which === "resolved" && job.resolved_spec ? job.resolved_spec : job.spec;
  const text = format === "yaml" ? toYaml(spec) : `${JSON.stringify(spec, null, 2)}\n`;
  const facts = Object.keys(job.facts ?? {}).length > 0 ? toYaml(job.facts as object) : null;
  return (
    <>
      <Group mb="sm" gap="sm">
        <SegmentedControl
          aria-label="Which specification"
          value={which}
          onChange={setWhich}
          data={[
            { value: "given", label: "As given" },
            { value: "resolved", label: "Resolved", disabled: !job.resolved_spec },
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
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button variant="default" onClick={copy}>
              {copied ? "Copied" : "Copy"}
            </Button>
          )}
        </CopyButton>
      </Group>
      <CodeBlock text={text} label="Specification" />
      {facts && (
        <>
          <h2 style={{ margin: "20px 0 10px" }}>Measured at the start</h2>
          <CodeBlock text={facts} label="Facts" />
        </>
      )}
    </>
  );
}
