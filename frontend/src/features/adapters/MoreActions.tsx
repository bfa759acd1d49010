import { Menu } from "@mantine/core";
import { useClipboard, useDisclosure } from "@mantine/hooks";
import { useAccess } from "@/api/access";
import { type Adapter, useDeleteAdapter } from "@/api/adapters";
import { Confirm } from "@/components/Confirm";
import { GatedButton } from "@/components/GatedButton";
import { toastDone } from "@/lib/toast";

/** Copying the ID and deleting, which are rarer than the row's other actions. */
export function MoreActions({ one }: { one: Adapter }) {
  const { refusal, ownersOnly } = useAccess();
  const [deleting, onDelete] = useDisclosure(false);
  const { copy } = useClipboard();
  const remove = useDeleteAdapter();
  const mayDelete = refusal === null && (one.job === null || ownersOnly === null);
  // The promise, because the row may be unmounted first. `remove.error` has a refusal.
  const deleteNow = () =>
    void remove.mutateAsync(one.id).then(
      () => toastDone(`${one.name} deleted.`),
      () => undefined,
    );
  const copyId = () => {
    copy(one.id);
    toastDone(`${one.id} copied.`);
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <GatedButton refusal={null} variant="default" size="compact-sm" aria-label={`More for ${one.name}`}>
            More
          </GatedButton>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={copyId}>Copy ID</Menu.Item>
          <Menu.Item disabled={!mayDelete} onClick={onDelete.open}>
            Delete…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Confirm
        opened={deleting}
        onClose={onDelete.close}
        title={`Delete ${one.name}?`}
        action="Delete adapter"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={deleteNow}
      >
        {one.job
          ? "It leaves this list. Its job keeps the checkpoints; deployments that serve it continue."
          : "Its files are deleted. Deployments that serve it and jobs that started from it continue."}
      </Confirm>
    </>
  );
}
