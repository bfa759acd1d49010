"""Fair, bounded slots for slow work in this process."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from fastapi import Request

from backend.access import sender_slots
from reinforge.errors import TooManyRequests, Unavailable

T = TypeVar("T")

_HANG_UP_SECONDS = 0.5


class FairSlots:
    """Admits `places` concurrent tasks, of which a project may have all but one, and `waiting` queued tasks
    per project; projects take turns.
    """

    def __init__(self, places: int, waiting: int) -> None:
        self._free, self._waiting = places, waiting
        self._most = max(1, places - 1)
        self._running: Counter[str] = Counter()
        self._lines: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def turn(self, project: str) -> AsyncIterator[None]:
        line = self._lines.setdefault(project, deque())
        if len(line) >= self._waiting:
            raise TooManyRequests(
                f"{self._waiting} requests of this project are already waiting to read datasets.",
                code="too_many_reads",
                hint="Wait for their answers, then try again.",
                retry_after=5,
            )
        admitted = asyncio.get_running_loop().create_future()
        line.append(admitted)
        self._go_on()
        try:
            await admitted
            yield
        finally:
            if admitted.done() and not admitted.cancelled():
                self._free += 1
                self._running[project] -= 1
                if not self._running[project]:
                    del self._running[project]
            elif admitted in line:
                line.remove(admitted)
            if not line and self._lines.get(project) is line:
                del self._lines[project]
            self._go_on()

    def _go_on(self) -> None:
        while self._free:
            may = (
                project
                for project, line in self._lines.items()
                if line and self._running[project] < self._most
            )
            project = next(may, None)
            if project is None:
                return
            line = self._lines.pop(project)
            following = line.popleft()
            self._lines[project] = line  # to the end of the queue
            if not following.done():
                self._free -= 1
                self._running[project] += 1
                following.set_result(None)


async def unless_disconnected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Await `work`; if the client disconnects, cancel it and raise Unavailable `caller_gone`."""
    task = asyncio.ensure_future(work)
    try:
        sender_slots.leave(request)
        while not task.done():
            await asyncio.wait({task}, timeout=_HANG_UP_SECONDS)
            if not task.done() and await request.is_disconnected():
                raise Unavailable("The client has disconnected.", code="caller_gone")
        return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
