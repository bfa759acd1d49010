import { Menu } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  type Deployment,
  useDeleteDeployment,
  useStartDeployment,
  useStopDeployment,
} from "@/api/deployments";
import { ButtonLink } from "@/components/ButtonLink";
import { Confirm } from "@/components/Confirm";
import { GatedButton } from "@/components/GatedButton";
import { toastDone, toastFailed } from "@/lib/toast";
import styles from "./Deployments.module.css";

type Props = { of: Deployment; refusal: string | null; onPoint: () => void };

/** What a person can do with a deployment. */
export function DeploymentActions({ of, refusal, onPoint }: Props) {
  const [stopping, onStop] = useDisclosure(false);
  const [deleting, onDelete] = useDisclosure(false);
  const start = useStartDeployment();
  const stop = useStopDeployment();
  const remove = useDeleteDeployment();
  const open = of.state !== "stopped" && of.state !== "draining";
  const stopNow = () =>
    stop.mutate(of.id, {
      onSuccess: (now) => {
        onStop.close();
        toastDone(
          now.state === "stopped" ? `${of.name} stopped.` : `${of.name} is finishing its active requests.`,
        );
      },
    });
  // The promise, because the row may be unmounted first. `remove.error` has a refusal.
  const deleteNow = () =>
    void remove.mutateAsync(of.id).then(
      () => toastDone(`${of.name} deleted.`),
      () => undefined,
    );
  return (
    <span className={styles.actions}>
      {open && (
        <ButtonLink
          to="/playground"
          search={{ deployment: of.name }}
          variant="default"
          size="compact-sm"
          aria-label={`Try it: ${of.name}`}
        >
          Try it
        </ButtonLink>
      )}
      {refusal ? (
        <GatedButton refusal={refusal} variant="default" size="compact-sm">
          More
        </GatedButton>
      ) : (
        <Menu position="bottom-end">
          <Menu.Target>
            <GatedButton
              refusal={null}
              variant="default"
              size="compact-sm"
              aria-label={`More for ${of.name}`}
            >
              More
            </GatedButton>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={onPoint}>Change weights…</Menu.Item>
            {of.state !== "ready" && of.state !== "loading" && (
              <Menu.Item
                onClick={() =>
                  start.mutate(of.id, {
                    onError: (error) => toastFailed("Could not start the deployment", error),
                  })
                }
              >
                {of.state === "failed" ? "Reload" : "Start"}
              </Menu.Item>
            )}
            {open && <Menu.Item onClick={onStop.open}>Stop…</Menu.Item>}
            {of.state === "stopped" && <Menu.Item onClick={onDelete.open}>Delete…</Menu.Item>}
          </Menu.Dropdown>
        </Menu>
      )}
      <Confirm
        opened={stopping}
        onClose={onStop.close}
        title={`Stop ${of.name}?`}
        action="Stop deployment"
        busy={stop.isPending}
        error={stop.error}
        onConfirm={stopNow}
      >
        <p>
          New requests are rejected
          {of.under_way > 0 ? `; the ${of.under_way} active requests finish first` : ""}. Weights and counters
          are kept, so you can start it again.
        </p>
      </Confirm>
      <Confirm
        opened={deleting}
        onClose={onDelete.close}
        title={`Delete ${of.name}?`}
        action="Delete deployment"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={deleteNow}
      >
        <p>Its counters are deleted and its name becomes free. The adapter and the job are kept.</p>
      </Confirm>
    </span>
  );
}
