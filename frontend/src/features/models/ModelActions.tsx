import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useAccess } from "@/api/access";
import { type BaseModel, useRemoveModel } from "@/api/models";
import { ButtonLink } from "@/components/ButtonLink";
import { Confirm } from "@/components/Confirm";
import { ShareModel } from "./ShareModel";

/** What a person can do with a base model. */
export function ModelActions({ model, onRemoved }: { model: BaseModel; onRemoved: () => void }) {
  const { refusal, administrator } = useAccess();
  const [removing, onRemove] = useDisclosure(false);
  const remove = useRemoveModel();
  const ready = model.status === "ready";
  const mayChange = !refusal && (!model.shared || administrator);
  return (
    <>
      {mayChange && (
        <Button variant="default" onClick={onRemove.open}>
          Remove…
        </Button>
      )}
      {ready && administrator && !refusal && !model.shared && <ShareModel model={model} />}
      {ready && (
        <>
          <ButtonLink to="/playground" search={{ model: model.id }} variant="default">
            Try it
          </ButtonLink>
          <ButtonLink to="/deployments" search={{ from: model.id }} variant="default">
            Deploy…
          </ButtonLink>
          <ButtonLink to="/jobs/new" search={{ model: model.id }}>
            New job
          </ButtonLink>
        </>
      )}
      <Confirm
        opened={removing}
        onClose={onRemove.close}
        title={`Remove ${model.id}?`}
        action="Remove model"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => void remove.mutateAsync(model.id).then(onRemoved, () => undefined)}
      >
        Workers keep its files. A model that jobs, adapters or deployments need cannot be removed.
      </Confirm>
    </>
  );
}
