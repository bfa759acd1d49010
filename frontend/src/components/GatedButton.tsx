import { Button, type ButtonProps } from "@mantine/core";
import { type ComponentPropsWithRef, lazy, Suspense, useRef, useState } from "react";

const RefusalTooltip = lazy(() => import("./RefusalTooltip"));

type Props = ButtonProps &
  Omit<ComponentPropsWithRef<"button">, keyof ButtonProps> & {
    /** Why the person may not do this; null or undefined when they may. */
    refusal: string | null | undefined;
  };

/** A button that says why it cannot be used: it keeps the focus, and does nothing. */
export function GatedButton({ refusal, onClick, disabled, ...rest }: Props) {
  if (!refusal) return <Button onClick={onClick} disabled={disabled} {...rest} />;
  return <RefusedButton refusal={refusal} {...rest} />;
}

/** Its tooltip, for mouse, keyboard and touch, loads when it opens; the button stays mounted and keeps the focus. */
function RefusedButton({ refusal, ...rest }: Omit<Props, "refusal"> & { refusal: string }) {
  const target = useRef<HTMLButtonElement>(null);
  const [opened, setOpened] = useState(false);
  const close = () => setOpened(false);
  return (
    <>
      <Button
        {...rest}
        ref={target}
        data-disabled
        aria-disabled
        aria-description={refusal}
        onClick={(event) => event.preventDefault()}
        onMouseEnter={() => setOpened(true)}
        onFocus={() => setOpened(true)}
        onMouseLeave={close}
        onBlur={close}
        onKeyDown={(event) => event.key === "Escape" && close()}
      />
      {opened && (
        <Suspense>
          <RefusalTooltip label={refusal} target={target} />
        </Suspense>
      )}
    </>
  );
}
