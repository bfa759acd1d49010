import type { Deployment } from "@/api/deployments";
import { Snippets } from "@/components/Snippets";
import styles from "./Deployments.module.css";
import { snippets } from "./snippets";

/** How the deployment is asked from outside, to copy. */
export function Ask({ of }: { of: Deployment }) {
  const list = snippets(of, window.location.origin);
  return (
    <section className={styles.ask} aria-labelledby="ask-deployment">
      <h2 id="ask-deployment">Ask {of.name}</h2>
      <p>
        Any OpenAI client can: the address is <code>{window.location.origin}/v1</code>, the model is{" "}
        <code>{of.name}</code>.
      </p>
      <Snippets of={list} />
    </section>
  );
}
