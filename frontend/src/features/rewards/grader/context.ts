import { createContext, useContext } from "react";
import type { CodeColumn } from "@/components/code/completion";
import type { Hints } from "@/lib/grader-start";
import type { JsonSchema } from "@/lib/spec-schema";
import type { Problems } from "./problems";

export type Builder = {
  /** The schema that the form is made from. */
  root: JsonSchema;
  problems: Problems;
  /** Of the dataset that the grader is tried on. */
  columns: readonly CodeColumn[];
  /** Names of the project's judges. */
  judges: readonly string[];
  hints: Hints;
  readOnly: boolean;
};

const BuilderContext = createContext<Builder | null>(null);
export const BuilderProvider = BuilderContext.Provider;

export function useBuilder(): Builder {
  const builder = useContext(BuilderContext);
  if (!builder) throw new Error("a field of a grader is outside its form");
  return builder;
}

export const idOf = (path: string) => `grader-${path.replace(/[^A-Za-z0-9]+/g, "-")}`;
