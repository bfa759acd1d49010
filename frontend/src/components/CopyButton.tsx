import { Button, type ButtonProps } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";

type Props = ButtonProps & { text: string; label?: string };

/** Copies a text and says so in its own place for a moment; its width stays. */
export function CopyButton({ text, label = "Copy", ...rest }: Props) {
  const { copy, copied, error } = useClipboard({ timeout: 2_000 });
  const word = error ? "Could not copy" : copied ? "Copied" : label;
  return (
    <Button variant="default" onClick={() => copy(text)} {...rest}>
      <span aria-live="polite" style={{ minWidth: `${label.length}ch` }}>
        {word}
      </span>
    </Button>
  );
}
