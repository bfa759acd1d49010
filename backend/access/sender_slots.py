"""Fair slots for the concurrent requests of an API process, which serves them all in one thread.

Requests with unknown credentials ("strangers") count as one sender, whose network addresses take turns. A
crowd is the strangers, or a sender that recently had many waiting requests. While a non-crowd sender is
active, all crowds share one slot, and a crowd's next request waits up to YIELD_SECONDS for other senders'
requests.
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
"""A sender with this many waiting requests is a crowd, until CALM_SECONDS after it last had so many."""
CALM_SECONDS = 3.0
"""How long a sender counts as active after a request. An open page sends one every 3 s."""
YIELD_SECONDS = 0.1
"""Maximum seconds that crowds wait for a slot while requests of other senders are under way."""
_REMEMBERED = 10_000


class WaitingLine:
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
        self._crowds: dict[str, float] = {}
        """Crowds → time when they last had CROWD_WAITING waiting requests."""
        self._calm: OrderedDict[str, float] = OrderedDict()
        """Senders that are not crowds → time of their last request, oldest first."""
        self._projects: OrderedDict[bytes, str] = OrderedDict()
        self._crowd_entered = 0.0
        """When a crowd's request last got a slot."""
        self._timer: asyncio.TimerHandle | None = None

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
        now = asyncio.get_running_loop().time()
        if not self._is_crowd(sender, now):
            self._calm[sender] = now
            self._calm.move_to_end(sender)
        if sender not in self._waiting and self._may_enter(sender, now):
            self._admit(sender, now)
            return
        line = self._waiting.setdefault(sender, WaitingLine())
        admitted = line.join(address)
        self._note_crowd(sender, now)
        self._try_later()
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
        self._let_in()

    def _is_crowd(self, sender: str, now: float) -> bool:
        return sender == STRANGERS or self._crowds.get(sender, -CALM_SECONDS) > now - CALM_SECONDS

    def _note_crowd(self, sender: str, now: float) -> None:
        if len(self._waiting[sender]) < CROWD_WAITING:
            return
        self._crowds[sender] = now
        self._calm.pop(sender, None)
        self._crowds = {crowd: at for crowd, at in self._crowds.items() if at > now - CALM_SECONDS}

    def _may_enter(self, sender: str, now: float) -> bool:
        places = STRANGER_PLACES if sender == STRANGERS else PROJECT_PLACES
        if not self._is_crowd(sender, now):
            return self._held[sender] < places
        others = any(active != sender for active in self._held)
        return self._held[sender] < (places // 2 if others else places) and not self._must_wait(now)

    def _must_wait(self, now: float) -> bool:
        while self._calm and next(iter(self._calm.values())) < now - CALM_SECONDS:
            self._calm.popitem(last=False)
        crowds = [self._is_crowd(active, now) for active in self._held]
        if not self._calm:
            return False
        return any(crowds) or (not all(crowds) and now - self._crowd_entered < YIELD_SECONDS)

    def _admit(self, sender: str, now: float) -> None:
        self._held[sender] += 1
        if self._is_crowd(sender, now):
            self._crowd_entered = now

    def _let_in(self) -> None:
        now = asyncio.get_running_loop().time()
        for sender in list(self._waiting):
            line = self._waiting[sender]
            self._note_crowd(sender, now)
            while line and self._may_enter(sender, now):
                following = line.following()
                if not following.done():
                    self._admit(sender, now)
                    following.set_result(None)
                    self._waiting.move_to_end(sender)
            if not line:
                del self._waiting[sender]
        self._try_later()

    def _try_later(self) -> None:
        """Admit waiting requests after YIELD_SECONDS even if no request ends."""
        if self._waiting and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(YIELD_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._timer = None
        self._let_in()


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
