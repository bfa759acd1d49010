"""Sweeps: jobs that differ in chosen settings."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import WORKER_SECONDS, Outage
from reinforge.client.shared import SWEEP_ENDS, document
from reinforge.schemas.sweeps import Sweep, SweepCheck, SweepDetail
from reinforge.sweeps import SweepSpec


def _body(spec: SweepSpec | dict[str, Any]) -> dict[str, Any]:
    body = spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, SweepSpec) else dict(spec)
    return body | {"job": document(body.get("job", {}))}


class AsyncSweeps:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, spec: SweepSpec | dict[str, Any]) -> SweepDetail:
        """Start a sweep. The field `job` may be a `JobSpec`."""
        return SweepDetail.model_validate(
            await self._transport.post("/sweeps", _body(spec), at_least=3 * WORKER_SECONDS)
        )

    async def check(self, spec: SweepSpec | dict[str, Any]) -> SweepCheck:
        """Check a sweep: its problems, its number of jobs and the first of them."""
        return SweepCheck.model_validate(await self._transport.post("/sweeps/check", _body(spec)))

    def list(self, *, status: str | None = None) -> AsyncIterator[Sweep]:
        return iterate(self._transport, "/sweeps", Sweep, status=status)

    async def get(self, id: str) -> SweepDetail:
        return SweepDetail.model_validate(await self._transport.get(f"/sweeps/{id}"))

    async def cancel(self, id: str) -> SweepDetail:
        """Cancel the sweep and its jobs."""
        return SweepDetail.model_validate(await self._transport.post(f"/sweeps/{id}/cancel"))

    async def delete(self, id: str) -> None:
        """Delete an ended sweep; its jobs stay. Owners only."""
        await self._transport.delete(f"/sweeps/{id}")

    async def wait(self, id: str, *, timeout: float | None = None, every: float = 2.0) -> SweepDetail:
        """Wait until the sweep has ended. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = time.monotonic() + (float("inf") if timeout is None else timeout), Outage()
        while True:
            answer = await self._transport.get_through_outage(f"/sweeps/{id}", outage, deadline)
            current = SweepDetail.model_validate(answer)
            if current.status in SWEEP_ENDS:
                return current
            if time.monotonic() > deadline:
                raise TimeoutError(f"The sweep {id} is still {current.status} after {timeout:g} s.")
            await asyncio.sleep(every)
