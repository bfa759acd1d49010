import { Button } from "@mantine/core";
import { Notice } from "./Notice";

type Problem = Error & { hint?: string | null; offline?: boolean; status?: number };

type Props = { title: string; error: Problem; retry?: () => void };

/** What is shown in place of something that could not be loaded. */
export function Failure({ title, error, retry }: Props) {
  const again = retry && (
    <Button variant="default" onClick={retry}>
      Try again
    </Button>
  );
  return (
    <Notice
      tone={error.offline ? "warn" : "bad"}
      title={error.status === 403 ? "Not allowed" : title}
      action={again}
    >
      {error.message} {error.hint}
    </Notice>
  );
}
