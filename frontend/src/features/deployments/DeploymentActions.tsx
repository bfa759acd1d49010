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
        toastDone(now.state === "stopped" ? `${of.name} is stopped.` : `${of.name} ends what is under way.`);
      },
    });
  // By the promise: the row may be gone before it is told. A refusal is `remove.error`.
  const deleteNow = () =>
    void remove.mutateAsync(of.id).then(
      () => toastDone(`${of.name} is deleted.`),
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
            <Menu.Item onClick={onPoint}>Point it at other weights…</Menu.Item>
            {of.state !== "ready" && of.state !== "loading" && (
              <Menu.Item
                onClick={() => start.mutate(of.id, { onError: (error) => toastFailed("Not started", error) })}
              >
                {of.state === "failed" ? "Load it again" : "Start it again"}
              </Menu.Item>
            )}
            {open && <Menu.Item onClick={onStop.open}>Stop it…</Menu.Item>}
            {of.state === "stopped" && <Menu.Item onClick={onDelete.open}>Delete it…</Menu.Item>}
          </Menu.Dropdown>
        </Menu>
      )}
      <Confirm
        opened={stopping}
        onClose={onStop.close}
        title={`Stop ${of.name}?`}
        action="Stop the deployment"
        busy={stop.isPending}
        error={stop.error}
        onConfirm={stopNow}
      >
        <p>
          Requests that name it are refused from now on
          {of.under_way > 0 ? `; the ${of.under_way} under way end first` : ""}. Its weights and its counts
          stay: it can be started again.
        </p>
      </Confirm>
      <Confirm
        opened={deleting}
        onClose={onDelete.close}
        title={`Delete ${of.name}?`}
        action="Delete the deployment"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={deleteNow}
      >
        <p>Its counts are gone and its name is free. The adapter and its job stay.</p>
      </Confirm>
    </span>
  );
}
