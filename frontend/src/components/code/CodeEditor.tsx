import { lazy, Suspense } from "react";
import styles from "./CodeEditor.module.css";
import type { CodeColumn } from "./completion";
import type { CodeProblem } from "./problems";
import type { CodeLanguage } from "./setup";

export type CodeEditorProps = {
  value: string;
  onChange?: (value: string) => void;
  /** The name of the field for those who do not see it. */
  label: string;
  /** Id of an element that says how to leave the editor by keyboard. */
  describedBy?: string;
  language?: CodeLanguage;
  /** Columns of the dataset, offered as `item["…"]` or `{…}`. */
  columns?: readonly CodeColumn[];
  /** Keep the same array while nothing changes: a new one is linted again. */
  problems?: readonly CodeProblem[];
  readOnly?: boolean;
  placeholder?: string;
};

const CodeMirror = lazy(() => import("./CodeMirror"));

/** A code editor that fills its parent. Until its code has loaded, it shows plain text. */
export function CodeEditor(props: CodeEditorProps) {
  const { value, placeholder = "", language = "python" } = props;
  const waiting = (
    <pre className={styles.waiting} data-language={language.replace("plain_", "")} aria-busy="true">
      {value || placeholder}
    </pre>
  );
  return (
    <div className={styles.frame}>
      <Suspense fallback={waiting}>
        <CodeMirror {...props} />
      </Suspense>
    </div>
  );
}
