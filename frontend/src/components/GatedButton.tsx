import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import type { ComponentPropsWithRef } from "react";

type Props = ButtonProps &
  Omit<ComponentPropsWithRef<"button">, keyof ButtonProps> & {
    /** Why the person may not do this; null or undefined when they may. */
    refusal: string | null | undefined;
  };

/** A button that says why it cannot be used: it keeps the focus, and does nothing. */
export function GatedButton({ refusal, onClick, disabled, ...rest }: Props) {
  if (!refusal) return <Button onClick={onClick} disabled={disabled} {...rest} />;
  return (
    <Tooltip label={refusal} multiline maw={280} events={{ hover: true, focus: true, touch: true }}>
      <Button {...rest} data-disabled aria-disabled onClick={(event) => event.preventDefault()} />
    </Tooltip>
  );
}
