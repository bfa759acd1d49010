import { Button, Group, Modal } from "@mantine/core";
import { useBlocker } from "@tanstack/react-router";

type Props = {
  /** Whether something would be lost now. */
  unsaved: boolean;
  /** "The changes to the reward are not saved." */
  what: string;
};

/** Asks before a screen with unsaved changes is left; other parts of the same path are no leaving. */
export function LeaveGuard({ unsaved, what }: Props) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => unsaved && current.pathname !== next.pathname,
    enableBeforeUnload: unsaved,
    withResolver: true,
  });
  return (
    <Modal
      opened={status === "blocked"}
      onClose={() => reset?.()}
      title="Leave without saving?"
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {what} They are lost when you leave this page.
      <Group justify="flex-end" mt="md" gap={8}>
        <Button variant="default" onClick={reset} data-autofocus>
          Stay
        </Button>
        <Button color="red" variant="light" onClick={proceed}>
          Leave without saving
        </Button>
      </Group>
    </Modal>
  );
}
