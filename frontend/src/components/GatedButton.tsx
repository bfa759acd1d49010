import { Button, type ButtonProps } from "@mantine/core";
import { type ComponentPropsWithRef, lazy, Suspense } from "react";

const RefusalTooltip = lazy(() => import("./RefusalTooltip"));

type Props = ButtonProps &
  Omit<ComponentPropsWithRef<"button">, keyof ButtonProps> & {
    /** Why the person may not do this; null or undefined when they may. */
    refusal: string | null | undefined;
  };

/** A button that says why it cannot be used: it keeps the focus, and does nothing. */
export function GatedButton({ refusal, onClick, disabled, ...rest }: Props) {
  if (!refusal) return <Button onClick={onClick} disabled={disabled} {...rest} />;
  const button = <Button {...rest} data-disabled aria-disabled onClick={(event) => event.preventDefault()} />;
  return (
    <Suspense fallback={button}>
      <RefusalTooltip label={refusal}>{button}</RefusalTooltip>
    </Suspense>
  );
}
