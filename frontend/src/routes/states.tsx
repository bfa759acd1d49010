import { Anchor, Loader } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useServerAway } from "@/api/connection";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";

export function NotFound() {
  return (
    <main style={{ padding: 48 }}>
      <Page title="There is no such page">
        <p>
          The address leads nowhere. Go to{" "}
          <Anchor underline="always" renderRoot={(props) => <Link to="/jobs" {...props} />}>
            Jobs
          </Anchor>
          .
        </p>
      </Page>
    </main>
  );
}

/** Does `act` once the server answers again. */
function useReturn(act: () => void): void {
  const away = useServerAway();
  const before = useRef(away);
  useEffect(() => {
    if (before.current && !away) act();
    before.current = away;
  });
}

export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const client = useQueryClient();
  const retry = () => {
    void client.invalidateQueries();
    reset();
    void router.invalidate();
  };
  useReturn(retry);
  return (
    <div style={{ padding: 24 }}>
      <Failure
        title="The page could not be shown"
        error={error instanceof Error ? error : new Error(String(error))}
        retry={retry}
      />
    </div>
  );
}

export function Waiting() {
  return (
    <div style={{ display: "grid", placeItems: "center", minHeight: "60vh" }}>
      <Loader size="sm" aria-label="Loading" />
    </div>
  );
}
