"""Shares an empty result among a worker's pollers: after a notification, only one queries the queue."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence

from backend.data.events import Hub, Subscription
from reinforge.schemas.rpc.base import CallKind
from reinforge.schemas.worker_api import CallMessage

TOPIC = "calls"
SHARED_SECONDS = 1.0


class WorkerPoll:
    def __init__(self, subscribe: contextlib.AbstractContextManager[Subscription]) -> None:
        self._open = contextlib.ExitStack()
        self._notified = self._open.enter_context(subscribe)
        self._lock = asyncio.Lock()
        self._empty: tuple[int, float] | None = None
        self.pollers = 0

    def close(self) -> None:
        self._open.close()

    async def look(
        self, take: Callable[[], Awaitable[CallMessage | None]], gone: Callable[[], Awaitable[bool]]
    ) -> CallMessage | None:
        """gone: whether the poller has disconnected."""
        async with self._lock:
            count = self._notified.count
            empty_count, read_at = self._empty or (-1, 0.0)
            if (count == empty_count and time.monotonic() - read_at < SHARED_SECONDS) or await gone():
                return None
            message = await take()
            self._empty = (count, time.monotonic()) if message is None else None
            return message


class WorkerPolls:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._polls: dict[tuple[str, ...], WorkerPoll] = {}

    @contextlib.contextmanager
    def of(self, worker: str, kinds: Sequence[CallKind]) -> Iterator[tuple[WorkerPoll, Subscription]]:
        key = (worker, *sorted(kinds))
        with self._hub.subscribe(TOPIC) as arrived:
            if key not in self._polls:
                self._polls[key] = WorkerPoll(self._hub.subscribe(TOPIC))
            poll = self._polls[key]
            poll.pollers += 1
            try:
                yield poll, arrived
            finally:
                poll.pollers -= 1
                if poll.pollers == 0:
                    self._polls.pop(key).close()
