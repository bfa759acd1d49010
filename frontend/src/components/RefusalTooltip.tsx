import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";

/** Why a button cannot be used, for mouse, keyboard and touch. */
export default function RefusalTooltip({ label, children }: { label: string; children: ReactElement }) {
  return (
    <Tooltip label={label} multiline maw={280} events={{ hover: true, focus: true, touch: true }}>
      {children}
    </Tooltip>
  );
}
