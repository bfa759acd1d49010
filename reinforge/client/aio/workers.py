"""Workers: the processes that train, serve and answer calls."""

from reinforge.client.aio.transport import AsyncTransport
from reinforge.schemas.common import Page
from reinforge.schemas.resources import WorkerInfo


class AsyncWorkers:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> list[WorkerInfo]:
        return Page[WorkerInfo].model_validate(await self._transport.get("/workers")).data
