"""Pre-flights: what a job would be, before it is started."""

# Made from reinforge/client/preflights.py by scripts/async_client.py: change that one.

import asyncio
import time
from typing import Any

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.jobs import RESTS, document
from reinforge.client.transport import WORKER_SECONDS
from reinforge.schemas.preflights import Preflight
from reinforge.spec import JobSpec


class AsyncPreflights:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, spec: JobSpec | dict[str, Any]) -> Preflight:
        """Queue a few steps of this job, without learning."""
        return Preflight.model_validate(
            await self._transport.post("/preflights", document(spec), at_least=WORKER_SECONDS)
        )

    async def get(self, id: str) -> Preflight:
        return Preflight.model_validate(await self._transport.get(f"/preflights/{id}"))

    async def cancel(self, id: str) -> Preflight:
        return Preflight.model_validate(await self._transport.post(f"/preflights/{id}/cancel"))

    async def wait(self, id: str, *, timeout: float | None = None, every: float = 1.0) -> Preflight:
        """Until it rests. Raises TimeoutError."""
        deadline = time.monotonic() + (float("inf") if timeout is None else timeout)
        while (found := await self.get(id)).status not in RESTS:
            if time.monotonic() > deadline:
                raise TimeoutError(f"The pre-flight {id} is still {found.status} after {timeout:g} s.")
            await asyncio.sleep(every)
        return found
