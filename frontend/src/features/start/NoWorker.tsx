import { useQuery } from "@tanstack/react-query";
import { workersQuery } from "@/api/workers";
import { CopyField } from "@/components/CopyField";
import { Notice } from "@/components/Notice";

/** No worker is online: jobs wait, and this is how to start one. */
export function NoWorker() {
  const workers = useQuery(workersQuery).data?.data;
  if (!workers || workers.some((worker) => worker.online && worker.kind === "trainer")) return null;
  const command = `REINFORGE_URL=${location.origin} REINFORGE_WORKER_TOKEN=… python -m worker`;
  return (
    <Notice
      tone="warn"
      title="No worker online"
      more={<CopyField label="Command to start a worker" text={command} />}
    >
      Jobs wait in the queue until a worker is online. <code>reinforge up</code> starts one with the server.
      On another machine, use the worker token of the server:
    </Notice>
  );
}
