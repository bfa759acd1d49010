import { Button } from "@mantine/core";
import { useState } from "react";
import { type BaseModel, useShareModel } from "@/api/models";
import { Confirm } from "@/components/Confirm";

/** Gives a model of the project to all projects, once an administrator has confirmed it. */
export function ShareModel({ model }: { model: BaseModel }) {
  const [asking, setAsking] = useState(false);
  const share = useShareModel();
  return (
    <>
      <Button variant="default" onClick={() => setAsking(true)}>
        Share with all projects…
      </Button>
      <Confirm
        opened={asking}
        onClose={() => setAsking(false)}
        title={`Share ${model.id} with all projects?`}
        action="Share with all projects"
        onConfirm={() => share.mutate(model.id, { onSuccess: () => setAsking(false) })}
        busy={share.isPending}
        error={share.error}
      >
        Every project can use it{model.has_token ? ", and workers download it with its hub token" : ""}. Only
        administrators can change or remove it. You cannot undo this.
      </Confirm>
    </>
  );
}
