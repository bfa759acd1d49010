import { Anchor, Loader } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { OFFLINE } from "@/api/client";
import { answers, connection, useServerAway } from "@/api/connection";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";
import { lacksCode } from "./screen";

export function NotFound() {
  return (
    <main style={{ padding: 48 }}>
      <Page title="Page not found">
        <p>
          This address does not exist. Go to{" "}
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

const RELOADED = "reinforge-reloaded";

/** Reloads the page once: code that is missing after that stays missing. */
function reloadOnce(): void {
  const last = Number(sessionStorage.getItem(RELOADED));
  if (Date.now() - last < 60_000) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  window.location.reload();
}

export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const client = useQueryClient();
  const missing = lacksCode(error);
  const away = useServerAway();
  const retry = () => {
    // A browser keeps a module that did not come: only another page fetches it again.
    if (missing) return window.location.reload();
    void client.invalidateQueries();
    reset();
    void router.invalidate();
  };
  useReturn(retry);
  useEffect(() => {
    if (missing) void answers().then((there) => (there ? reloadOnce() : connection.lost()));
  }, [missing]);
  const failure = error instanceof Error ? error : new Error(String(error));
  return (
    <div style={{ padding: 24 }}>
      <Failure
        title="Could not show the page"
        error={missing && away ? OFFLINE : failure}
        retry={missing && away ? undefined : retry}
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
