"""Base models: register, share, list, remove."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Literal

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.shared import refusal
from reinforge.schemas.resources import BaseModelInfo, ModelProgress


class AsyncModels:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def add(
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
        model = BaseModelInfo.model_validate(
            await self._transport.post("/models", body, params={"wait": "false"})
        )
        while model.status == "adding" or model.progress is not None:
            if progress is not None and model.progress is not None:
                progress(model.progress)
            await asyncio.sleep(every)
            model = await self.get(id)
        if model.failure is not None:
            if model.status == "failed":
                await self.remove(id)
            raise refusal(model.failure)
        return model

    async def share(self, id: str) -> BaseModelInfo:
        """Share a project's model and its hub token with all projects. Administrators only."""
        return BaseModelInfo.model_validate(await self._transport.post(f"/models/{id}/share", None))

    def list(self) -> AsyncIterator[BaseModelInfo]:
        return iterate(self._transport, "/models", BaseModelInfo)

    async def get(self, id: str) -> BaseModelInfo:
        return BaseModelInfo.model_validate(await self._transport.get(f"/models/{id}"))

    async def remove(self, id: str) -> None:
        await self._transport.delete(f"/models/{id}")
