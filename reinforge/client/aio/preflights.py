"""Pre-flights: estimates of a job from a few steps without training."""

import asyncio
import time
from typing import Any

from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import WORKER_SECONDS, Outage
from reinforge.client.shared import RESTS, document
from reinforge.schemas.preflights import Preflight
from reinforge.spec import JobSpec


class AsyncPreflights:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(self, spec: JobSpec | dict[str, Any]) -> Preflight:
        return Preflight.model_validate(
            await self._transport.post("/preflights", document(spec), at_least=WORKER_SECONDS)
        )

    async def get(self, id: str) -> Preflight:
        return Preflight.model_validate(await self._transport.get(f"/preflights/{id}"))

    async def cancel(self, id: str) -> Preflight:
        return Preflight.model_validate(await self._transport.post(f"/preflights/{id}/cancel"))

    async def wait(self, id: str, *, timeout: float | None = None, every: float = 1.0) -> Preflight:
        """Wait until the pre-flight has ended. Raises TimeoutError after `timeout` seconds."""
        deadline, outage = time.monotonic() + (float("inf") if timeout is None else timeout), Outage()
        while True:
            document = await self._transport.get_through_outage(f"/preflights/{id}", outage, deadline)
            current = Preflight.model_validate(document)
            if current.status in RESTS:
                return current
            if time.monotonic() > deadline:
                raise TimeoutError(f"The pre-flight {id} is still {current.status} after {timeout:g} s.")
            await asyncio.sleep(every)
