import { Anchor, Loader } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ErrorComponentProps, Link, useRouter } from "@tanstack/react-router";
import { Failure } from "@/components/Failure";
import { Page } from "@/components/Page";

export function NotFound() {
  return (
    <main style={{ padding: 48 }}>
      <Page title="There is no such page">
        <p>
          The address leads nowhere. Go to{" "}
          <Anchor renderRoot={(props) => <Link to="/jobs" {...props} />}>Jobs</Anchor>.
        </p>
      </Page>
    </main>
  );
}

export function RouteFailure({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const client = useQueryClient();
  const retry = () => {
    void client.invalidateQueries();
    reset();
    void router.invalidate();
  };
  return (
    <main style={{ padding: 48 }}>
      <Failure
        title="The page could not be shown"
        error={error instanceof Error ? error : new Error(String(error))}
        retry={retry}
      />
    </main>
  );
}

export function Waiting() {
  return (
    <div style={{ display: "grid", placeItems: "center", minHeight: "60vh" }}>
      <Loader size="sm" aria-label="Loading" />
    </div>
  );
}
