import { CodeBlock } from "@/components/CodeBlock";
import { Failure } from "@/components/Failure";
import { Skeleton } from "@/components/Skeleton";
import styles from "./Environment.module.css";
import { parametersOf } from "./environment";
import type { ToolsReport } from "./use-tools";

/** The schemas as the model reads them, made from the source without running it. */
export function SchemaPreview({ report }: { report: ToolsReport }) {
  const { tools, error, current, retry } = report;
  return (
    <section className={styles.card} aria-labelledby="tool-schemas">
      <h3 id="tool-schemas">What the model reads</h3>
      {error && <Failure title="Could not read the sources" error={error} retry={retry} />}
      {!error && tools.length === 0 && (current ? <p>No tools yet.</p> : <Skeleton width="60%" />)}
      <ul className={styles.tools}>
        {tools.map(({ source, tool }) => (
          <li key={`${source} ${tool.function.name}`}>
            <details>
              <summary>
                <code>
                  {tool.function.name}(
                  {parametersOf(tool.function.parameters)
                    .map(({ name, required }) => (required ? name : `${name}?`))
                    .join(", ")}
                  )
                </code>
              </summary>
              <CodeBlock text={JSON.stringify(tool, null, 2)} label={`Schema of ${tool.function.name}`} />
            </details>
            <p>{tool.function.description}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
