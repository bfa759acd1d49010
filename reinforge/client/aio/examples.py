"""Examples of the server: data, reward, job file and measured result."""

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import WORKER_SECONDS
from reinforge.schemas.common import Page
from reinforge.schemas.examples import ExampleDetail, ExampleSummary
from reinforge.schemas.jobs import JobDetail


class AsyncExamples:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(self) -> list[ExampleSummary]:
        return Page[ExampleSummary].model_validate(await self._transport.get("/examples")).data

    async def get(self, name: str) -> ExampleDetail:
        return ExampleDetail.model_validate(await self._transport.get(f"/examples/{name}"))

    async def start(self, name: str) -> JobDetail:
        """Create the example's datasets, reward and job, or return its unfinished job."""
        answer = await self._transport.post(f"/examples/{name}/start", at_least=WORKER_SECONDS)
        return JobDetail.model_validate(answer)
