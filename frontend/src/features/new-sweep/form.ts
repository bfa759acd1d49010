import { createContext, useContext } from "react";
import type { JobProblem, Preset } from "@/api/job-form";
import type { Field } from "@/lib/spec-fields";
import type { SweepDraft } from "./draft";

export type SweepForm = {
  draft: SweepDraft;
  set: (change: Partial<SweepDraft>) => void;
  /** Fields of the job that may vary, by path. */
  fields: ReadonlyMap<string, Field>;
  presets: readonly Preset[];
  problems: ReadonlyMap<string, readonly JobProblem[]>;
  readOnly: boolean;
};

const SweepFormContext = createContext<SweepForm | null>(null);
export const SweepFormProvider = SweepFormContext.Provider;

export function useSweepForm(): SweepForm {
  const form = useContext(SweepFormContext);
  if (!form) throw new Error("a field of the sweep form is outside the form");
  return form;
}

/** Where the focus goes for the problems of a place. */
export const placeId = (place: string) => `sweep-${place.replace(/[^A-Za-z0-9]+/g, "-")}`;

/** Puts the focus on the first control of a place. */
export function focusPlace(place: string): void {
  const target = document.getElementById(placeId(place));
  const control = target?.matches("input, select, textarea")
    ? target
    : (target?.querySelector<HTMLElement>("input:not([type=file]), select, textarea, button") ?? target);
  control?.scrollIntoView({ block: "center" });
  control?.focus({ preventScroll: true });
}
