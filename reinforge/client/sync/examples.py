# Generated from reinforge/client/aio/examples.py by scripts/sync_client.py: change that file.
"""Examples of the server: data, reward, job file and measured result."""

from reinforge.client.protocol import WORKER_SECONDS
from reinforge.client.sync.transport import Transport
from reinforge.schemas.common import Page
from reinforge.schemas.examples import ExampleDetail, ExampleSummary
from reinforge.schemas.jobs import JobDetail


class Examples:
    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[ExampleSummary]:
        return Page[ExampleSummary].model_validate(self._transport.get("/examples")).data

    def get(self, name: str) -> ExampleDetail:
        return ExampleDetail.model_validate(self._transport.get(f"/examples/{name}"))

    def start(self, name: str) -> JobDetail:
        """Create the example's datasets, reward and job, or return its unfinished job."""
        answer = self._transport.post(f"/examples/{name}/start", at_least=WORKER_SECONDS)
        return JobDetail.model_validate(answer)
