# Generated from reinforge/client/aio/models.py by scripts/sync_client.py: change that file.
"""Base models: register, share, list, remove."""

import time
from collections.abc import Callable, Iterator
from typing import Literal

from reinforge.client.shared import refusal
from reinforge.client.sync.paging import iterate
from reinforge.client.sync.transport import Transport
from reinforge.schemas.resources import BaseModelInfo, ModelProgress


class Models:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def add(
        self,
        id: str,
        source: str,
        *,
        token: str | None = None,
        chat_template: Literal["plain", "bare"] | None = None,
        progress: Callable[[ModelProgress], None] | None = None,
        every: float = 1.0,
    ) -> BaseModelInfo:
        """Register a folder on the worker, or `hub:org/name@revision`, and wait until a worker has inspected it.

        `token` opens a private model, `chat_template` is for a model without one. Raises InvalidInput or
        Unavailable if the worker refuses the model.
        """
        body = {"id": id, "source": source, "token": token, "chat_template": chat_template}
        model = BaseModelInfo.model_validate(self._transport.post("/models", body, params={"wait": "false"}))
        while model.status == "adding" or model.progress is not None:
            if progress is not None and model.progress is not None:
                progress(model.progress)
            time.sleep(every)
            model = self.get(id)
        if model.failure is not None:
            if model.status == "failed":
                self.remove(id)
            raise refusal(model.failure)
        return model

    def share(self, id: str) -> BaseModelInfo:
        """Share a project's model and its hub token with all projects. Administrators only."""
        return BaseModelInfo.model_validate(self._transport.post(f"/models/{id}/share", None))

    def list(self) -> Iterator[BaseModelInfo]:
        return iterate(self._transport, "/models", BaseModelInfo)

    def get(self, id: str) -> BaseModelInfo:
        return BaseModelInfo.model_validate(self._transport.get(f"/models/{id}"))

    def remove(self, id: str) -> None:
        self._transport.delete(f"/models/{id}")
