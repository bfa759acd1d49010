import { Button } from "@mantine/core";
import { CopyButton } from "./CopyButton";
import { Notice } from "./Notice";

type Problem = Error & {
  hint?: string | null;
  offline?: boolean;
  status?: number;
  requestId?: string | null;
};

type Props = { title: string; error: Problem; retry?: () => void };

/** What kind of failure it is, when that says more than what failed. */
function titleOf(title: string, { status, offline }: Problem): string {
  if (offline) return "No connection";
  if (status === 403) return "Not allowed";
  if (status === 404) return "Not found";
  return title;
}

/** What is shown in place of something that could not be loaded or done. */
export function Failure({ title, error, retry }: Props) {
  const lasting = error.status === 403 || error.status === 404;
  // The id finds the request in the server's log: wanted only where the fault is the server's.
  const id = (error.status ?? 0) >= 500 ? error.requestId : null;
  return (
    <Notice
      tone={error.offline ? "warn" : "bad"}
      title={titleOf(title, error)}
      action={
        <>
          {id && <CopyButton text={id} label="Copy request id" />}
          {retry && !lasting && (
            <Button variant="default" onClick={retry}>
              Try again
            </Button>
          )}
        </>
      }
    >
      {error.message} {error.hint}
    </Notice>
  );
}
