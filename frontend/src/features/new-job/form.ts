import { createContext, useContext, useMemo } from "react";
import type { JobProblem } from "@/api/job-form";
import type { BaseModel } from "@/api/models";
import type { Json } from "@/lib/paths";
import { assign, type Field, fieldsOf } from "@/lib/spec-fields";
import { defaults } from "@/lib/spec-schema";
import type { Basis, Draft } from "./draft";
import type { Placed } from "./problems";
import type { Suggested } from "./suggested/suggested";

export type Form = {
  basis: Basis;
  draft: Draft;
  model: BaseModel | undefined;
  suggested: Suggested;
  fields: readonly Field[];
  byPath: ReadonlyMap<string, Field>;
  placed: Placed;
  change: (how: (old: Draft) => Draft) => void;
  set: (field: Field, value: Json | undefined) => void;
  /** Brings a field into view and puts the cursor there. */
  goTo: (path: string) => void;
  /** A viewer may read the form, not use it. */
  readOnly: boolean;
};

const FormContext = createContext<Form | null>(null);
export const FormProvider = FormContext.Provider;

export function useForm(): Form {
  const form = useContext(FormContext);
  if (!form) throw new Error("a field of the job form is outside the form");
  return form;
}

/** One field of the specification with what is wrong with it. */
export function useField(path: string): { field: Field | undefined; problems: readonly JobProblem[] } {
  const { byPath, placed } = useForm();
  return { field: byPath.get(path), problems: placed.at.get(path) ?? [] };
}

/** Every field with its default: the preset's where it says something. */
export function useFields(basis: Basis | undefined, draft: Draft): readonly Field[] {
  return useMemo(() => {
    if (!basis) return [];
    return fieldsOf(basis.schema, draft, defaults(basis.schema, basis.algorithms, draft));
  }, [basis, draft]);
}

export { assign };
