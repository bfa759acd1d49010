import { useQuery } from "@tanstack/react-query";
import type { JobDetail } from "@/api/jobs";
import { modelsQuery } from "@/api/models";
import { Snippets } from "@/components/Snippets";
import { getAt, type JsonObject } from "@/lib/paths";
import styles from "./Checkpoints.module.css";
import { baseName, guides } from "./use-adapter";

/** How the adapter is used outside of the platform. */
export function UseIt({ job }: { job: JobDetail }) {
  const models = useQuery(modelsQuery).data?.data;
  const rank = getAt((job.resolved_spec ?? job.spec) as JsonObject, "adapter.rank");
  const list = guides(
    baseName(
      models?.find((one) => one.id === job.model),
      job.model,
    ),
    job.id,
    typeof rank === "number" ? rank : 16,
  );
  return (
    <section className={styles.use} aria-labelledby="use-adapter">
      <h2 id="use-adapter">Use the adapter outside Reinforge</h2>
      <p>
        A download is a <code>.tar.gz</code> with <code>adapter_config.json</code> and{" "}
        <code>adapter_model.safetensors</code>. It fits {job.model} only.
      </p>
      <Snippets of={list} />
    </section>
  );
}
