import { useQuery } from "@tanstack/react-query";
import { workersQuery } from "@/api/platform";
import { CopyField } from "@/components/CopyField";
import { Notice } from "@/components/Notice";

/** Nobody trains: jobs wait, and this is how to start somebody. */
export function NoWorker() {
  const workers = useQuery(workersQuery).data?.data;
  if (!workers || workers.some((worker) => worker.online && worker.kind === "trainer")) return null;
  const command = `REINFORGE_URL=${location.origin} REINFORGE_WORKER_TOKEN=… python -m worker`;
  return (
    <Notice
      tone="warn"
      title="No worker online"
      more={<CopyField label="Command that starts a worker" text={command} />}
    >
      Jobs wait in the queue until one is there. <code>reinforge up</code> runs one beside the server; another
      machine joins with the server's worker token:
    </Notice>
  );
}
