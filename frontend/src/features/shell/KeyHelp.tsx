import { Modal, Switch } from "@mantine/core";
import { keyLabel } from "@/lib/platform";
import { SHORTCUTS } from "@/lib/shortcut-catalogue";
import { useSingleKeys } from "@/lib/shortcuts";
import styles from "./KeyHelp.module.css";

/** Every key of the page, by screen. */
export default function KeyHelp({ onClose }: { onClose: () => void }) {
  const [single, setSingle] = useSingleKeys();
  return (
    <Modal opened onClose={onClose} title="Keyboard shortcuts" size={720}>
      <div className={styles.scopes}>
        {Object.entries(SHORTCUTS).map(([scope, { title, keys }]) => (
          <section key={scope} aria-labelledby={`keys-${scope}`}>
            <h3 id={`keys-${scope}`}>{title}</h3>
            <dl>
              {Object.entries(keys).map(([key, does]) => (
                <div key={key}>
                  <dt>
                    <kbd>{keyLabel(key)}</kbd>
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <Switch
        mt="md"
        label="Single-letter shortcuts"
        description="Turn them off if you use speech input or a screen reader. ⌘ and Ctrl shortcuts stay on."
        checked={single}
        onChange={(event) => setSingle(event.currentTarget.checked)}
      />
    </Modal>
  );
}
