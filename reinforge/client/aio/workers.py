"""Workers: the machines that train, and those that answer at once."""

from reinforge.client.aio.transport import AsyncTransport
from reinforge.schemas.common import Page
from reinforge.schemas.resources import WorkerInfo


class AsyncWorkers:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> list[WorkerInfo]:
        """All that the server knows, with what each does and can be asked."""
        return Page[WorkerInfo].model_validate(await self._transport.get("/workers")).data
