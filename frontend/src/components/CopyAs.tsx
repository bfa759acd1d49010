import { Button, Menu } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import { useState } from "react";
import { copyAs, FORMATS, type Format, type What } from "@/lib/copy-as";
import type { JsonObject } from "@/lib/paths";
import { CodeBlock } from "./CodeBlock";
import styles from "./CopyAs.module.css";
import { CopyButton } from "./CopyButton";

const names = (what: What): Record<Format, string> => ({
  yaml: what === "job" ? "Job file (YAML)" : "Sweep file (YAML)",
  cli: "Command line",
  python: "Python SDK",
  curl: "curl (JSON)",
});

type Props = { spec: JsonObject; ready: boolean; what?: What };

/** The same job or sweep as text that starts it from elsewhere: only what differs from the defaults. */
export function CopyAs({ spec, ready, what = "job" }: Props) {
  const titles = names(what);
  const [format, setFormat] = useState<Format | null>(null);
  const { copy } = useClipboard();
  const take = (format: Format) => {
    setFormat(format);
    copy(copyAs(format, spec, what));
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
              {titles[format]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {format && (
        <div className={styles.copied}>
          <div>
            <b>{titles[format]}</b>
            <CopyButton text={copyAs(format, spec, what)} size="compact-sm" />
            <Button variant="default" size="compact-sm" onClick={() => setFormat(null)}>
              Hide
            </Button>
          </div>
          {!ready && <p>Fill in all fields correctly first.</p>}
          <CodeBlock text={copyAs(format, spec, what)} label={titles[format]} />
        </div>
      )}
    </div>
  );
}
