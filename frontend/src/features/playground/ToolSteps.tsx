import { Button } from "@mantine/core";
import { ToolCall } from "@/components/ToolCall";
import { count } from "@/lib/format";
import styles from "./Playground.module.css";
import type { Reply } from "./talk";
import { endWords } from "./tool-steps";

/** Turns of a reply whose calls have run, as of a completion. */
export function ToolSteps({ reply }: { reply: Reply }) {
  if (reply.steps.length === 0 && reply.observed === "") return null;
  return (
    <div className={styles.steps}>
      {reply.observed !== "" && <p>Added by reset: {reply.observed}</p>}
      <ol aria-label={count(reply.steps.length, "turn")}>
        {reply.steps.map((step, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a turn's number is its name
          <li key={index}>
            <h3>Turn {index + 1}</h3>
            <pre dir="auto">{step.text}</pre>
            {step.calls.map((call) => (
              <ToolCall key={call.id} call={call} />
            ))}
          </li>
        ))}
      </ol>
      {reply.end !== null && <p>{endWords(reply.end)}</p>}
    </div>
  );
}

type Props = { reply: Reply; onRun: () => void };

/** The calls of the newest turn, which wait to be run. */
export function WaitingCalls({ reply, onRun }: Props) {
  const calls = reply.state === "done" ? (reply.calls ?? []) : [];
  if (calls.length === 0) return null;
  return (
    <div className={styles.calls}>
      <span>
        {count(calls.length, "call")}: {calls.map(({ name }) => name || "unreadable call").join(", ")}
      </span>
      <Button variant="default" size="compact-sm" onClick={onRun}>
        Run the calls
      </Button>
    </div>
  );
}
