"""Fair slots for concurrent requests, per sender and process: one thread interleaves all requests.

A crowd, a sender with many waiting requests, shares one slot with other crowds while anybody else is active. Strangers
take turns by network address.
"""

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque

from fastapi import Request

PROJECT_PLACES = 4
STRANGER_PLACES = 2
HOLD_SECONDS = 0.5
STRANGERS = "strangers"
CROWD_WAITING = 8
"""Waiting requests that make a sender a crowd, until none waits."""
CALM_SECONDS = 3.0
"""How long after their last request others still count as active: a page asks every 3 s."""
_REMEMBERED = 10_000


class WaitingLine:
    """Requests of one sender, by turns of addresses."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def join(self, address: str) -> asyncio.Future[None]:
        admitted = asyncio.get_running_loop().create_future()
        self._lines.setdefault(address, deque()).append(admitted)
        self._count += 1
        return admitted

    def following(self) -> asyncio.Future[None]:
        address, line = self._lines.popitem(last=False)
        admitted = line.popleft()
        self._count -= 1
        if line:
            self._lines[address] = line
        return admitted


class SenderSlots:
    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._waiting: OrderedDict[str, WaitingLine] = OrderedDict()
        self._crowds: set[str] = set()
        self._calm: OrderedDict[str, float] = OrderedDict()
        """Senders that are no crowd → time of their last request, oldest first."""
        self._projects: OrderedDict[bytes, str] = OrderedDict()

    def place(self, request: Request) -> "SenderSlot":
        sender = self._projects.get(_credential(request), STRANGERS)
        address = request.client.host if sender == STRANGERS and request.client is not None else ""
        return SenderSlot(self, sender, address)

    def remember(self, request: Request, project: str) -> None:
        key = _credential(request)
        self._projects[key] = project
        self._projects.move_to_end(key)
        while len(self._projects) > _REMEMBERED:
            self._projects.popitem(last=False)

    async def enter(self, sender: str, address: str = "") -> None:
        if sender not in self._crowds and sender != STRANGERS:
            self._calm[sender] = asyncio.get_running_loop().time()
            self._calm.move_to_end(sender)
        if sender not in self._waiting and self._may_enter(sender):
            self._held[sender] += 1
            return
        line = self._waiting.setdefault(sender, WaitingLine())
        admitted = line.join(address)
        if len(line) >= CROWD_WAITING:
            self._crowds.add(sender)
            self._calm.pop(sender, None)
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled():
                self.leave(sender)
            raise

    def leave(self, sender: str) -> None:
        self._held[sender] -= 1
        if self._held[sender] == 0:
            del self._held[sender]
        for waiting in list(self._waiting):
            self._let_in(waiting)

    def _may_enter(self, sender: str) -> bool:
        return self._held[sender] < self._most(sender) and not self._must_share(sender)

    def _most(self, sender: str) -> int:
        places = STRANGER_PLACES if sender == STRANGERS else PROJECT_PLACES
        return places // 2 if any(active != sender for active in self._held) else places

    def _must_share(self, sender: str) -> bool:
        """Whether others are active and the slot that crowds share is taken."""
        if sender not in self._crowds or not any(active in self._crowds for active in self._held):
            return False
        since = asyncio.get_running_loop().time() - CALM_SECONDS
        while self._calm and next(iter(self._calm.values())) < since:
            self._calm.popitem(last=False)
        return bool(self._calm)

    def _let_in(self, sender: str) -> None:
        line = self._waiting[sender]
        while line and self._may_enter(sender):
            following = line.following()
            if not following.done():
                self._held[sender] += 1
                following.set_result(None)
                self._waiting.move_to_end(sender)
        if not line:
            del self._waiting[sender]
            self._crowds.discard(sender)


class SenderSlot:
    def __init__(self, slots: SenderSlots, sender: str, address: str) -> None:
        self._slots, self._sender, self._address = slots, sender, address
        self._timer: asyncio.TimerHandle | None = None

    @property
    def held(self) -> bool:
        return self._timer is not None

    async def enter(self) -> None:
        if self._timer is None:
            await self._slots.enter(self._sender, self._address)
            self._timer = asyncio.get_running_loop().call_later(HOLD_SECONDS, self.leave)

    def leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            self._slots.leave(self._sender)


def leave(request: Request) -> None:
    place = getattr(request.state, "place", None)
    if isinstance(place, SenderSlot):
        place.leave()


def _credential(request: Request) -> bytes:
    text = request.headers.get("authorization") or request.headers.get("cookie") or ""
    return hashlib.sha256(text.encode()).digest()
