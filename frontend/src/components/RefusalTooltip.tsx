import { Tooltip } from "@mantine/core";
import type { RefObject } from "react";

type Props = { label: string; target: RefObject<HTMLButtonElement | null> };

/** Why a button cannot be used. */
export default function RefusalTooltip({ label, target }: Props) {
  return <Tooltip opened label={label} target={target} multiline maw={280} />;
}
