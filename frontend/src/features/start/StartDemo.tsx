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
      {demo.error && <Failure title="The demo was not started" error={demo.error} />}
      <Empty
        title="See a whole job in a minute or two"
        action={
          <GatedButton refusal={refusal} loading={demo.isPending} onClick={() => demo.mutate()}>
            Start the demo job
          </GatedButton>
        }
      >
        The built-in starter model learns to write out additions step by step, on this machine's CPU. You
        watch reward, length and entropy move, read the completions, and try the adapter.
      </Empty>
    </>
  );
}
