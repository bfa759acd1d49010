"""Fair slots for concurrent requests, per sender and process: one thread interleaves all requests."""

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque

from fastapi import Request

PROJECT_PLACES = 4
STRANGER_PLACES = 2
HOLD_SECONDS = 0.5
STRANGERS = "strangers"
_REMEMBERED = 10_000


class SenderSlots:
    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._projects: OrderedDict[bytes, str] = OrderedDict()

    def place(self, request: Request) -> "SenderSlot":
        return SenderSlot(self, self._projects.get(_credential(request), STRANGERS))

    def remember(self, request: Request, project: str) -> None:
        key = _credential(request)
        self._projects[key] = project
        self._projects.move_to_end(key)
        while len(self._projects) > _REMEMBERED:
            self._projects.popitem(last=False)

    async def enter(self, sender: str) -> None:
        if sender not in self._waiting and self._held[sender] < self._most(sender):
            self._held[sender] += 1
            return
        admitted = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(sender, deque()).append(admitted)
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
        # If only one active sender remains, it gets the slots of a sole sender.
        for crowded in [sender] if self._held[sender] else list(self._waiting):
            self._let_in(crowded)

    def _most(self, sender: str) -> int:
        places = STRANGER_PLACES if sender == STRANGERS else PROJECT_PLACES
        return places // 2 if any(active != sender for active in self._held) else places

    def _let_in(self, sender: str) -> None:
        line = self._waiting.get(sender)
        while line and self._held[sender] < self._most(sender):
            following = line.popleft()
            if not following.done():
                self._held[sender] += 1
                following.set_result(None)
        if not line:
            self._waiting.pop(sender, None)


class SenderSlot:
    def __init__(self, slots: SenderSlots, sender: str) -> None:
        self._slots, self._sender = slots, sender
        self._timer: asyncio.TimerHandle | None = None

    @property
    def held(self) -> bool:
        return self._timer is not None

    async def enter(self) -> None:
        if self._timer is None:
            await self._slots.enter(self._sender)
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
