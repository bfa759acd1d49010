import { flushSync } from "react-dom";
import type { Field } from "@/lib/spec-fields";
import { ESSENTIAL } from "./essential";
import { firstPath, type Placed } from "./problems";

/** How a field is found: in the short form first, in Advanced where it is nowhere else. */
export const fieldId = (path: string, where = "") => `field${where}-${path.replace(/[^A-Za-z0-9]+/g, "-")}`;

const CONTROLS = "input:not([type=file]), select, textarea, button";

/** Brings a field into view and puts the focus there; `openAll` shows Advanced. */
export function focusField(path: string, openAll: () => void): void {
  let target = document.getElementById(fieldId(path));
  if (!target) {
    flushSync(openAll);
    target = document.getElementById(fieldId(path, "-all"));
  }
  target?.closest("details")?.setAttribute("open", "");
  const control = target?.matches(CONTROLS)
    ? target
    : (target?.querySelector<HTMLElement>(CONTROLS) ?? target);
  control?.scrollIntoView({ block: "center" });
  control?.focus({ preventScroll: true });
}

/** The first field with a problem, in the order of the screen; null when the problems belong to none. */
export function firstProblem(placed: Placed, fields: readonly Field[]): string | null {
  const paths = fields.map((field) => field.path);
  return firstPath(placed, [
    "model",
    "data.dataset",
    "environment",
    "rewards",
    ...paths.filter((path) => ESSENTIAL.has(path)),
    ...paths,
  ]);
}
