"""Lanes: how many requests of one sender this process works on side by side.

One thread runs all requests, a piece of each in turn. Whoever sends hundreds at once would get hundreds of pieces for
each piece of somebody else's. So each project has a few places, and so have all strangers together; further requests
wait, those of a lane in the order in which they came. A request gives its place back as soon as it waits for something
else than this process, and after `HOLD_SECONDS` at the latest: lanes are about the processor, not about how many
requests may last (`backend.bounds`).
"""

import asyncio
import hashlib
from collections import OrderedDict, deque

from fastapi import Request

PROJECT_PLACES = 4
STRANGER_PLACES = 2
HOLD_SECONDS = 0.5
STRANGERS = "strangers"
_REMEMBERED = 10_000


class Lanes:
    """Those of one process."""

    def __init__(self) -> None:
        self._free: dict[str, int] = {}
        """Only of lanes in use."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._projects: OrderedDict[bytes, str] = OrderedDict()
        """Digest of a credential that was good → its project. It chooses a lane and opens nothing."""

    def place(self, request: Request) -> "Place":
        return Place(self, self._projects.get(_credential(request), STRANGERS))

    def remember(self, request: Request, project: str) -> None:
        """Its credential is good: from now on it is no stranger's."""
        key = _credential(request)
        self._projects[key] = project
        self._projects.move_to_end(key)
        while len(self._projects) > _REMEMBERED:
            self._projects.popitem(last=False)

    async def enter(self, lane: str) -> None:
        free = self._free.setdefault(lane, STRANGER_PLACES if lane == STRANGERS else PROJECT_PLACES)
        if free > 0:
            self._free[lane] = free - 1
            return
        line = self._waiting.setdefault(lane, deque())
        mine = asyncio.get_running_loop().create_future()
        line.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine.done() and not mine.cancelled():
                self.leave(lane)
            raise

    def leave(self, lane: str) -> None:
        line = self._waiting.get(lane)
        while line:
            following = line.popleft()
            if not following.done():
                following.set_result(None)
                return
        self._waiting.pop(lane, None)
        self._free[lane] += 1
        if self._free[lane] == (STRANGER_PLACES if lane == STRANGERS else PROJECT_PLACES):
            del self._free[lane]


class Place:
    """That of one request, which may leave and enter again."""

    def __init__(self, lanes: Lanes, lane: str) -> None:
        self._lanes, self._lane = lanes, lane
        self._timer: asyncio.TimerHandle | None = None

    @property
    def held(self) -> bool:
        return self._timer is not None

    async def enter(self) -> None:
        if self._timer is None:
            await self._lanes.enter(self._lane)
            self._timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self.leave)

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._lanes.leave(self._lane)


def leave(request: Request) -> None:
    """The request will wait for a worker, a process or a client now."""
    place = getattr(request.state, "place", None)
    if isinstance(place, Place):
        place.leave()


def _credential(request: Request) -> bytes:
    text = request.headers.get("authorization") or request.headers.get("cookie") or ""
    return hashlib.sha256(text.encode()).digest()
