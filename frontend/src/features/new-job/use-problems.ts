import { useMemo, useState } from "react";
import type { JobCheck, JobProblem } from "@/api/job-form";
import type { Field } from "@/lib/spec-fields";
import { type Draft, ownProblems, rewardsOf } from "./draft";
import { SOURCES } from "./environment/environment";
import { type Placed, place, stillTrue } from "./problems";

type Options = {
  draft: Draft;
  spec: Draft;
  fields: readonly Field[];
  byPath: ReadonlyMap<string, Field>;
  /** The newest answers of the server about this specification. */
  checks: readonly (JobCheck | undefined)[];
};

/** Everything wrong with the draft, by field: what the form sees itself, and what the server says. */
export function useProblems({ draft, spec, fields, byPath, checks }: Options) {
  // Before the first try, what is only missing is not yet a fault.
  const [submitted, setSubmitted] = useState(false);
  const [refusal, setRefusal] = useState<{ spec: Draft; problems: readonly JobProblem[] } | null>(null);
  const own = useMemo(() => ownProblems(draft, fields), [draft, fields]);
  const all = useMemo(() => {
    const mine = new Set(own.map((one) => one.param));
    const theirs = [
      ...(refusal?.spec === spec ? refusal.problems : []),
      ...checks.flatMap((check) => check?.problems ?? []),
    ];
    // A field's own problem replaces the server's message for it.
    const still = stillTrue(theirs, spec);
    return [...own, ...still.filter(({ param }) => !mine.has(param) && !(param === "data" && mine.size > 0))];
  }, [own, refusal, spec, checks]);

  const fieldPaths = useMemo(() => {
    const anchors = ["rewards", SOURCES, ...rewardsOf(draft).map((_, i) => `rewards[${i}]`)];
    return new Set([...byPath.keys(), ...anchors]);
  }, [byPath, draft]);
  const placed = useMemo(() => place(all, fieldPaths), [all, fieldPaths]);
  const visible = useMemo<Placed>(() => {
    if (submitted) return placed;
    const missing = new Set(own.filter((one) => !byPath.get(one.param ?? "")?.value).map((one) => one.param));
    return { ...placed, at: new Map([...placed.at].filter(([path]) => !missing.has(path))) };
  }, [submitted, placed, own, byPath]);

  return {
    complete: own.length === 0,
    placed,
    visible,
    /** From now on missing fields are faults. */
    insist: () => setSubmitted(true),
    /** The server's response to starting or checking this specification. */
    tell: (problems: readonly JobProblem[]) => {
      setSubmitted(true);
      setRefusal({ spec, problems });
      return place(problems, fieldPaths);
    },
  };
}

export const countOf = ({ at, elsewhere }: Placed) => [...at.values()].flat().length + elsewhere.length;
