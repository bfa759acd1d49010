import { Button, FileButton, SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId, useMemo, useState } from "react";
import { jobFormQuery } from "@/api/job-form";
import { judgesQuery } from "@/api/judges";
import type { RewardEntry } from "@/api/rewards";
import { CodeEditor } from "@/components/code/CodeEditor";
import type { CodeColumn } from "@/components/code/completion";
import { Failure } from "@/components/Failure";
import { Notice } from "@/components/Notice";
import { SkeletonCard } from "@/components/Skeleton";
import { graderNode, readGrader, writeGrader } from "@/lib/grader";
import type { JsonObject } from "@/lib/paths";
import { type JsonSchema, variants } from "@/lib/spec-schema";
import pane from "../editor/EditorPane.module.css";
import { checkWords, useCheck } from "../editor/use-check";
import type { GraderView } from "../place";
import { BuilderProvider } from "./context";
import styles from "./Grader.module.css";
import { GraderNode } from "./GraderNode";

type Props = {
  source: string;
  columns: readonly CodeColumn[];
  /** Column with the reference answer. */
  answer: string | undefined;
  view: GraderView | undefined;
  readOnly: boolean;
  /** The choice between Python and a grader. */
  kinds: ReactNode;
  onSource: (source: string) => void;
  onView: (view: GraderView | undefined) => void;
  onFile: (file: File) => void;
};

const BOTH = "both";
const VIEWS = [
  { value: BOTH, label: "Both" },
  { value: "form", label: "Form" },
  { value: "json", label: "JSON" },
];

const words = (entries: readonly RewardEntry[]) =>
  `Valid grader: ${entries.map(({ name, spelling }) => (name === spelling ? name : `${name} (${spelling})`)).join(", ")}.`;

/** What the text says; while it is no JSON, what it said before. */
function useGrader(source: string) {
  const read = useMemo(() => readGrader(source), [source]);
  const [lastValid, setLastValid] = useState<{ source: string; grader: JsonObject }>({
    source: "{}",
    grader: {},
  });
  if ("grader" in read && lastValid.source !== source) setLastValid({ source, grader: read.grader });
  return { fault: "fault" in read ? read.fault : null, grader: lastValid.grader, last: lastValid.source };
}

/** A grader as a form made from the server's schema, and as its JSON: each follows the other. */
export default function GraderPane(props: Props) {
  const { source, columns, answer, view, readOnly, kinds, onSource, onView, onFile } = props;
  const help = useId();
  const form = useQuery(jobFormQuery);
  const judges = useQuery(judgesQuery).data?.data;
  const checked = useCheck(source, null, readOnly);
  const { fault, grader, last } = useGrader(source);
  const root = form.data?.json_schema as JsonSchema | undefined;
  const all = useMemo(() => {
    const node = root && graderNode(root);
    return (root && node && variants(node, root)?.of) ?? {};
  }, [root]);
  // What the server said of an earlier text is not true of this one's places.
  const { problems } = checked;
  const inForm = useMemo(() => problems.filter(({ line }) => line == null), [problems]);
  const inText = useMemo(
    () => (fault?.line ? [fault] : problems.filter(({ line }) => line != null)),
    [fault, problems],
  );
  const names = useMemo(() => judges?.map(({ name }) => name) ?? [], [judges]);
  const builder = useMemo(
    () => ({
      root: root ?? {},
      problems: inForm,
      columns,
      judges: names,
      hints: { answer, judge: names[0] },
      readOnly: readOnly || fault !== null,
    }),
    [root, inForm, columns, names, answer, readOnly, fault],
  );
  const ok = checked.current && checked.check.data?.ok && !checked.check.error;
  const where = fault?.line ? ` at line ${fault.line}, column ${fault.column}` : "";
  return (
    <section className={pane.pane} aria-label="Source">
      <div className={pane.bar}>
        {kinds}
        {!readOnly && (
          <FileButton accept=".json,application/json" onChange={(file) => file && onFile(file)}>
            {(button) => (
              <Button variant="default" size="compact-sm" {...button}>
                Open a .json file
              </Button>
            )}
          </FileButton>
        )}
        <SegmentedControl
          aria-label="Grader view"
          size="xs"
          data={VIEWS}
          value={view ?? BOTH}
          onChange={(value) => onView(value === BOTH ? undefined : (value as GraderView))}
        />
      </div>
      <div className={styles.both} data-view={view ?? BOTH}>
        {view !== "json" && (
          <section className={styles.form} aria-label="Form of the grader" tabIndex={0}>
            {fault && (
              <Notice
                tone="warn"
                title={`The text is not JSON${where}`}
                action={
                  !readOnly && (
                    <Button variant="default" size="compact-sm" onClick={() => onSource(last)}>
                      Restore the last valid JSON
                    </Button>
                  )
                }
              >
                {fault.message}. The form shows the last valid version.
              </Notice>
            )}
            {form.isError && (
              <Failure title="Could not load the form" error={form.error} retry={() => void form.refetch()} />
            )}
            {form.isPending && <SkeletonCard height={240} label="Loading the form" />}
            {root && (
              <BuilderProvider value={builder}>
                <GraderNode
                  path=""
                  of={all}
                  label="Type of grader"
                  value={grader}
                  onChange={(next) => onSource(writeGrader(next))}
                />
              </BuilderProvider>
            )}
          </section>
        )}
        {view !== "form" && (
          <div className={styles.json}>
            <CodeEditor
              label="The grader as JSON"
              language="json"
              describedBy={help}
              value={source}
              onChange={onSource}
              problems={inText}
              readOnly={readOnly}
            />
          </div>
        )}
      </div>
      <div className={pane.foot}>
        <span
          role="status"
          data-state={readOnly ? undefined : ok ? "ok" : problems.length > 0 ? "bad" : undefined}
        >
          {readOnly ? "Read only" : checkWords(checked, words)}
        </span>
        <span id={help} className={pane.help}>
          In the JSON, Tab indents. Press Escape, then Tab to leave it.
        </span>
      </div>
    </section>
  );
}
