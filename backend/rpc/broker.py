"""State of the broker, as seen from the API process."""

import asyncio
import logging
from typing import Annotated

import anyio
import anyio.to_thread
from fastapi import Depends, Request

from backend.settings import Settings
from reinforge.net.broker import BrokerState, look, unanswered

log = logging.getLogger(__name__)

_EVERY_SECONDS = 5.0
_WITHIN_SECONDS = 5.0


class BrokerWatch:
    def __init__(self, settings: Settings) -> None:
        url = settings.redis_url
        self._place = (url.get_secret_value() if url is not None else None, settings.broker_folder)
        self._threads = anyio.CapacityLimiter(2)
        self._probe: asyncio.Task[BrokerState] | None = None
        self.state: BrokerState | None = None

    async def look(self) -> BrokerState:
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._ask())
        return await asyncio.shield(self._probe)

    async def run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(_EVERY_SECONDS)

    async def _ask(self) -> BrokerState:
        try:
            async with asyncio.timeout(_WITHIN_SECONDS):
                state = await anyio.to_thread.run_sync(
                    look, *self._place, abandon_on_cancel=True, limiter=self._threads
                )
        except TimeoutError:
            state = unanswered(*self._place, _WITHIN_SECONDS)
        if state.problem != (self.state.problem if self.state else None):
            log.warning("%s", state.problem or "the queue answers again")
        self.state = state
        return state


async def _broker(request: Request) -> BrokerState | None:
    watch: BrokerWatch = request.app.state.broker
    return watch.state


BrokerDep = Annotated[BrokerState | None, Depends(_broker)]
