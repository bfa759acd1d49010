import type { Deployment } from "@/api/deployments";
import { Snippets } from "@/components/Snippets";
import styles from "./Deployments.module.css";
import { snippets } from "./snippets";

/** Code to call the deployment, to copy. */
export function Ask({ of }: { of: Deployment }) {
  const list = snippets(of, window.location.origin);
  return (
    <section className={styles.ask} aria-labelledby="ask-deployment">
      <h2 id="ask-deployment">Ask {of.name}</h2>
      <p>
        Use any OpenAI client. Base URL: <code>{window.location.origin}/v1</code>, model:{" "}
        <code>{of.name}</code>.
      </p>
      {of.tools && (
        <p>
          It runs {of.tools.length === 1 ? "its tool" : "its tools"} {of.tools.join(", ")} and returns the
          final message. The field <code>trace</code> lists the calls.
        </p>
      )}
      <Snippets of={list} />
    </section>
  );
}
