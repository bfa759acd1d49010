import { Button, Menu } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useState } from "react";
import { CodeBlock } from "@/components/CodeBlock";
import { CopyButton } from "@/components/CopyButton";
import { copyAs, FORMATS, type Format } from "@/lib/copy-as";
import type { JsonObject } from "@/lib/paths";
import styles from "../NewJob.module.css";

const NAMES: Record<Format, string> = {
  yaml: "Job file (YAML)",
  cli: "Command line",
  python: "Python SDK",
  curl: "curl (JSON)",
};

/** The same job as text that starts it from elsewhere: only what differs from the defaults. */
export function CopyAs({ spec, ready }: { spec: JsonObject; ready: boolean }) {
  const [format, setFormat] = useState<Format | null>(null);
  const { copy } = useClipboard();
  const take = (format: Format) => {
    setFormat(format);
    copy(copyAs(format, spec));
  };
  return (
    <div className={styles.copy}>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button variant="default" fullWidth>
            Copy as…
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {FORMATS.map((format) => (
            <Menu.Item key={format} onClick={() => take(format)}>
              {NAMES[format]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {format && (
        <div className={styles.copied}>
          <div>
            <b>{NAMES[format]}</b>
            <CopyButton text={copyAs(format, spec)} size="compact-sm" />
            <Button variant="default" size="compact-sm" onClick={() => setFormat(null)}>
              Hide
            </Button>
          </div>
          {!ready && <p>Fill in all fields correctly first.</p>}
          <CodeBlock text={copyAs(format, spec)} label={NAMES[format]} />
        </div>
      )}
    </div>
  );
}
