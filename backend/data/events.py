"""Notifications between processes, each of which has one LISTEN connection and distributes them by topic.

They carry no data, so a lost or repeated one does no harm. Topics: `job:<id>`, `calls`, `call:<id>`, `queue`
and more.
"""

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterator
from typing import Annotated

import psycopg
from fastapi import Depends, Request
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

log = logging.getLogger(__name__)

CHANNEL = "reinforge"
_RECONNECT_SECONDS = 1.0
_NOTIFY = text("SELECT pg_notify(:channel, :topic)")


async def notify(session: AsyncSession, topic: str) -> None:
    await session.execute(_NOTIFY, {"channel": CHANNEL, "topic": topic})


class Subscription:
    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.count = 0

    def set(self) -> None:
        self.count += 1
        self._event.set()

    async def wait(self, timeout: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._event.wait(), timeout)
        notified = self._event.is_set()
        self._event.clear()
        return notified


class Hub:
    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._topics: defaultdict[str, set[Subscription]] = defaultdict(set)
        self._task: asyncio.Task[None] | None = None
        self._listening = asyncio.Event()

    @contextlib.contextmanager
    def subscribe(self, topic: str) -> Iterator[Subscription]:
        """Subscribe to a topic. Call it before reading the tables, so that no event is missed."""
        subscription = Subscription()
        self._topics[topic].add(subscription)
        try:
            yield subscription
        finally:
            self._topics[topic].discard(subscription)
            if not self._topics[topic]:
                del self._topics[topic]

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="events")
        waiting = asyncio.create_task(self._listening.wait())
        await asyncio.wait({self._task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    def wake_all(self) -> None:
        for subscriptions in self._topics.values():
            for subscription in subscriptions:
                subscription.set()

    async def _run(self) -> None:
        while True:
            try:
                await self._listen()
            except psycopg.OperationalError as error:
                log.warning("event connection lost, reconnecting: %s", str(error).strip())
            await asyncio.sleep(_RECONNECT_SECONDS)

    async def _listen(self) -> None:
        connection = await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True)
        async with connection:
            await connection.execute(f"LISTEN {CHANNEL}")
            self._listening.set()
            self.wake_all()
            async for message in connection.notifies():
                for subscription in self._topics.get(message.payload, ()):
                    subscription.set()


async def get_hub(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


HubDep = Annotated[Hub, Depends(get_hub)]
