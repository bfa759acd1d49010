import { Button, Drawer } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import {
  type Delivery,
  deliveriesQuery,
  deliveryQuery,
  useResend,
  useTestWebhook,
  type Webhook,
} from "@/api/webhooks";
import { CodeBlock } from "@/components/CodeBlock";
import { type Column, DataTable } from "@/components/DataTable";
import { Failure } from "@/components/Failure";
import { Skeleton } from "@/components/Skeleton";
import { StatePill } from "@/components/StatePill";
import { ago, number } from "@/lib/format";
import { toastDone, toastFailed } from "@/lib/toast";
import styles from "../Settings.module.css";
import { deliveryWords } from "./webhook-words";

const sendWords = ({ state }: Delivery) => (state === "pending" ? "Send now" : "Send again");

function columns(onOpen: (id: string) => void, onResend: (one: Delivery) => void): Column<Delivery>[] {
  return [
    {
      head: "Event",
      grow: true,
      cell: (one) => (
        <button type="button" data-row aria-haspopup="dialog" onClick={() => onOpen(one.id)}>
          {one.type}
        </button>
      ),
    },
    { head: "Status", cell: (one) => <StatePill state={one.state} /> },
    { head: "Result", hide: "medium", cell: (one) => deliveryWords(one) },
    {
      head: "Created",
      hide: "narrow",
      align: "right",
      cell: (one) => <time title={one.created_at}>{ago(one.created_at)}</time>,
    },
    {
      head: "Actions",
      // On a phone the delivery itself has the button.
      hide: "narrow",
      align: "right",
      cell: (one) => (
        <span className={styles.rowActions}>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`${sendWords(one)}: ${one.type} of ${one.created_at}`}
            onClick={() => onResend(one)}
          >
            {sendWords(one)}
          </Button>
        </span>
      ),
    },
  ];
}

/** One delivery: what was sent, and what each try came to. */
function Peek({
  webhook,
  id,
  onResend,
  onClose,
}: {
  webhook: string;
  id: string;
  onResend: (one: Delivery) => void;
  onClose: () => void;
}) {
  const query = useQuery(deliveryQuery(webhook, id));
  const one = query.data;
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="min(640px, 100vw)"
      title={one?.type ?? "Delivery"}
      closeButtonProps={{ "aria-label": "Close" }}
      overlayProps={{ backgroundOpacity: 0.15 }}
      transitionProps={{ duration: 120 }}
    >
      <div className={styles.form} aria-busy={!one && !query.isError}>
        {query.isError && !one && (
          <Failure
            title="Could not load the delivery"
            error={query.error}
            retry={() => void query.refetch()}
          />
        )}
        {one ? (
          <>
            <p>
              {deliveryWords(one)}. <code>webhook-id</code> is {one.id}, the same for every attempt.
              {one.state === "pending" && one.next_at && ` Next attempt at ${one.next_at.slice(11, 19)} UTC.`}
            </p>
            <div>
              <Button variant="default" size="compact-sm" onClick={() => onResend(one)}>
                {sendWords(one)}
              </Button>
            </div>
            <h3>Attempts</h3>
            {one.log.length === 0 ? (
              <p className={styles.none}>None yet.</p>
            ) : (
              <ol className={styles.tries}>
                {one.log.map((attempt) => (
                  <li key={attempt.number}>
                    <b>{attempt.status ?? "no response"}</b> {attempt.error ?? "received"}
                    <span className={styles.none}>
                      {` · ${number(attempt.milliseconds)} ms · `}
                      <time title={attempt.at}>{ago(attempt.at)}</time>
                    </span>
                  </li>
                ))}
              </ol>
            )}
            <h3>Body</h3>
            <CodeBlock text={JSON.stringify(one.body, null, 2)} label="Delivery body" />
          </>
        ) : (
          !query.isError && <Skeleton height={160} />
        )}
      </div>
    </Drawer>
  );
}

type Props = { of: Webhook; open: string | undefined; onOpen: (delivery: string | undefined) => void };

/** What was sent to a webhook in the last 30 days. */
export function Deliveries({ of, open, onOpen }: Props) {
  const query = useInfiniteQuery(deliveriesQuery(of.id));
  const resend = useResend(of.id);
  const test = useTestWebhook();
  const rows = query.data?.pages.flatMap((page) => page.data);
  const again = (one: Delivery) =>
    resend.mutate(one.id, {
      onSuccess: () => toastDone("Sent again with the same ID and body."),
      onError: (error) => toastFailed("Could not send it again", error),
    });
  return (
    <section className={styles.log} aria-labelledby="deliveries">
      <div className={styles.head}>
        <h3 id="deliveries">Deliveries to {of.url.replace(/^https?:\/\//, "")}</h3>
        <Button
          variant="default"
          size="compact-sm"
          loading={test.isPending}
          onClick={() =>
            test.mutate(of.id, { onError: (error) => toastFailed("Could not send the test", error) })
          }
        >
          Send test
        </Button>
      </div>
      {query.isError && !rows ? (
        <Failure title="Could not load deliveries" error={query.error} retry={() => void query.refetch()} />
      ) : rows?.length === 0 ? (
        <p className={styles.none}>
          No deliveries yet. Send a test to check that the receiver responds and accepts the signature.
        </p>
      ) : (
        <DataTable
          label="Deliveries"
          columns={columns(onOpen, again)}
          rows={rows}
          rowKey={(one) => one.id}
          expected={3}
        />
      )}
      {query.hasNextPage && (
        <div className={styles.bar}>
          <Button
            variant="default"
            loading={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            Earlier deliveries
          </Button>
        </div>
      )}
      {open && <Peek webhook={of.id} id={open} onResend={again} onClose={() => onOpen(undefined)} />}
    </section>
  );
}
