"""Deals the requests of one queue to the servers of a fleet."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from worker.rollout.engine import Generated, GenerateRequest, RequestQueue, Sample
from worker.rollout.vllm.api import sampled
from worker.rollout.vllm.member import FleetMember, MemberLost


@dataclass(eq=False)
class _Share:
    member: FleetMember
    inbox: RequestQueue = field(default_factory=RequestQueue)
    requests: list[GenerateRequest] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    @property
    def rows(self) -> int:
        return sum(map(sampled, self.requests))

    def has_room(self, request: GenerateRequest) -> bool:
        return not self.requests or self.rows + sampled(request) <= self.member.rows

    def add(self, request: GenerateRequest) -> None:
        self.requests.append(request)
        self.inbox.add(request)

    def remove(self, request: GenerateRequest) -> None:
        place = next(place for place, other in enumerate(self.requests) if other is request)
        del self.requests[place]


_Event = tuple[_Share, Generated | Exception | None]


class Dealer:
    """One sampling of a fleet. lose: called with a member that failed, and why."""

    def __init__(
        self,
        queue: RequestQueue,
        name: Callable[[GenerateRequest], str],
        lose: Callable[[FleetMember, str], None],
    ) -> None:
        """name: raises ValueError for a request that no server can answer."""
        self._queue, self._name, self._lose = queue, name, lose
        self._waiting: deque[GenerateRequest] = deque()
        self._shares: dict[str, _Share] = {}
        self._homes: dict[tuple[object, ...], _Share] = {}
        self._events: asyncio.Queue[_Event | None] = asyncio.Queue()
        queue.on_change = self.wake

    @property
    def done(self) -> bool:
        self._admit()
        return self._queue.closed and not self._waiting and not any(s.requests for s in self._shares.values())

    def wake(self) -> None:
        self._events.put_nowait(None)

    def deal(self, members: Sequence[FleetMember]) -> None:
        """Give waiting requests to members with room, in the order of their arrival."""
        for member in members:
            if member.name not in self._shares:
                new = self._shares[member.name] = _Share(member)
                new.task = asyncio.create_task(self._run(new))
        while self._waiting and (share := self._choice(self._waiting[0])) is not None:
            request = self._waiting.popleft()
            self._homes[_prompt(request)] = share
            share.add(request)

    async def next(self) -> Generated | None:
        """An answer, or None after another event. Raises what an engine raised."""
        event = await self._events.get()
        if event is None:
            return None
        share, result = event
        if isinstance(result, Generated):
            share.remove(result.request)
            return result
        self._shares.pop(share.member.name)
        self._waiting.extendleft(reversed(share.requests))
        self._homes = {prompt: home for prompt, home in self._homes.items() if home is not share}
        if isinstance(result, MemberLost):
            self._lose(share.member, str(result))
        elif result is not None:
            raise result
        return None

    async def cancelled(self) -> AsyncGenerator[Generated, None]:
        """End what runs; yields answers to all requests, with partial samples."""
        for share in self._shares.values():
            share.member.engine.cancel()
        while self._shares:
            if (answer := await self.next()) is not None:
                yield answer
        self._admit()
        for request in self._waiting:
            yield Generated(request, (Sample((), (), "cancelled"),) * request.n)
        self._waiting.clear()

    async def close(self) -> None:
        self._queue.on_change = lambda: None
        tasks = [share.task for share in self._shares.values() if share.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _admit(self) -> None:
        for request in self._queue.take():
            self._name(request)
            self._waiting.append(request)

    def _choice(self, request: GenerateRequest) -> _Share | None:
        """The server with the fewest rows; the one that has read the prompt before, if it has hardly more."""
        shares = [share for share in self._shares.values() if share.has_room(request)]
        if not shares:
            return None
        least = min(shares, key=lambda share: share.rows)
        home = self._homes.get(_prompt(request))
        if home in shares and home.rows <= least.rows + max(sampled(request), least.rows // 4):
            return home
        return least

    async def _run(self, share: _Share) -> None:
        result: Exception | None = None
        try:
            async with aclosing(share.member.engine.generate_from(share.inbox)) as answers:
                async for answer in answers:
                    self._events.put_nowait((share, answer))
        except Exception as error:  # noqa: BLE001 - raised by `next`
            result = error
        self._events.put_nowait((share, result))


def _prompt(request: GenerateRequest) -> tuple[object, ...]:
    noise = request.noise
    return request.policy, noise.stream, noise.step, noise.prompt_no
