import { lazy, Suspense } from "react";
import styles from "./CodeEditor.module.css";

export type CodeDiffProps = {
  before: string;
  after: string;
  labels: readonly [before: string, after: string];
  /** One column instead of two: for narrow screens. */
  unified: boolean;
};

const Merge = lazy(() => import("./Merge"));

/** Two versions of a source with what changed between them. */
export function CodeDiff(props: CodeDiffProps) {
  return (
    <div className={styles.diff}>
      <Suspense
        fallback={
          <pre className={styles.waiting} data-language="python" aria-busy="true">
            {props.after}
          </pre>
        }
      >
        <Merge {...props} />
      </Suspense>
    </div>
  );
}
