import { useAccess } from "@/api/access";
import { useStartDemo } from "@/api/project";
import { Empty } from "@/components/Empty";
import { Failure } from "@/components/Failure";
import { GatedButton } from "@/components/GatedButton";

/** A project in which nothing has happened: one press shows what everything looks like. */
export function StartDemo() {
  const { refusal } = useAccess();
  const demo = useStartDemo();
  return (
    <>
      {demo.error && <Failure title="Could not start the demo" error={demo.error} />}
      <Empty
        title="See a complete job in one or two minutes"
        action={
          <GatedButton refusal={refusal} loading={demo.isPending} onClick={() => demo.mutate()}>
            Start demo job
          </GatedButton>
        }
      >
        The built-in starter model learns step-by-step addition on the CPU of this machine. Watch reward,
        length and entropy, read completions, and try the adapter.
      </Empty>
    </>
  );
}
