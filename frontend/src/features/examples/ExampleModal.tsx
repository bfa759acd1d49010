import { Modal } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import type { JobDetail } from "@/api/jobs";
import { ExampleGallery } from "./ExampleGallery";

type Props = { opened: boolean; onClose: () => void; onStarted: (job: JobDetail) => void };

export function ExampleModal({ opened, onClose, onStarted }: Props) {
  const narrow = useMediaQuery("(max-width: 700px)");
  return (
    <Modal opened={opened} onClose={onClose} title="Start from an example" size={980} fullScreen={narrow}>
      <ExampleGallery onStarted={onStarted} />
    </Modal>
  );
}
