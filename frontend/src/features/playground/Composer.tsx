import { Button, Textarea } from "@mantine/core";
import type { KeyboardEvent, ReactNode } from "react";
import { GatedButton } from "@/components/GatedButton";
import styles from "./Playground.module.css";

type Props = {
  value: string;
  onChange: (value: string) => void;
  onSend: () => void;
  onStop: () => void;
  busy: boolean;
  refusal: string | null;
  /** Further actions, left of Send. */
  children: ReactNode;
  label: string;
};

/** Where the next prompt is written. Enter sends, Shift and Enter make a line, Escape stops. */
export function Composer({ value, onChange, onSend, onStop, busy, refusal, children, label }: Props) {
  const ready = value.trim() !== "" && !busy && refusal === null;
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "Escape" && busy) onStop();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (ready) onSend();
  };
  return (
    <div className={styles.composer}>
      <Textarea
        aria-label={label}
        aria-describedby="composer-keys"
        placeholder={label}
        autosize
        minRows={2}
        maxRows={10}
        value={value}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: 12.5 } }}
        onKeyDown={onKey}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <div className={styles.actions}>
        <small id="composer-keys">Enter to send, Shift+Enter for a new line, Esc to stop.</small>
        {children}
        {busy ? (
          <Button variant="default" onClick={onStop} miw={88}>
            Stop
          </Button>
        ) : (
          <GatedButton refusal={refusal} disabled={!ready} onClick={onSend} miw={88}>
            Send
          </GatedButton>
        )}
      </div>
    </div>
  );
}
