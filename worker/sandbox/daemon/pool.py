"""Pool of jails, which serves client processes round-robin."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from worker.sandbox.daemon.calls import NeedsLibraries, ScoringCall
from worker.sandbox.daemon.families import NOTHING, Family, LibraryBroken, SourceNeeds
from worker.sandbox.daemon.session import JailDied
from worker.sandbox.jails import Jail
from worker.sandbox.outcome import CallOutcome, ProgramsOutcome, Validation
from worker.sandbox.programs import ProgramCall

Answer = CallOutcome | Validation | ProgramsOutcome

_CLOSED = "the sandbox was closed while the call waited or ran"


@dataclass(slots=True)
class CallTicket:
    call: ScoringCall | ProgramCall
    answer: "asyncio.Future[Answer]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    running: "asyncio.Task[Answer] | None" = None
    peer: Hashable = None

    def cancel(self) -> None:
        self.answer.cancel()
        if self.running is not None:
            self.running.cancel()

    def fail(self, message: str) -> None:
        if not self.answer.done():
            self.answer.set_result(self.call.failed("sandbox_error", message))


class FairQueue:
    def __init__(self) -> None:
        self._lines: OrderedDict[Hashable, deque[CallTicket]] = OrderedDict()
        self._running: Counter[Hashable] = Counter()
        self._takers = 0
        self._filled = asyncio.Event()

    def put(self, peer: Hashable, ticket: CallTicket) -> None:
        ticket.peer = peer
        self._lines.setdefault(peer, deque()).append(ticket)
        self._filled.set()

    async def get(self, *, idle_peers_only: bool = False) -> CallTicket:
        """idle_peers_only: only tickets of peers without running calls."""
        while (peer := self._next(idle_peers_only)) is None:
            self._filled.clear()
            self._takers += not idle_peers_only
            try:
                await self._filled.wait()
            finally:
                self._takers -= not idle_peers_only
        line = self._lines.pop(peer)
        ticket = line.popleft()
        if line:
            self._lines[peer] = line
        if self._lines:
            self._filled.set()
        self._running[peer] += 1
        return ticket

    def _next(self, idle_peers_only: bool) -> Hashable | None:
        if not idle_peers_only:
            return next(iter(self._lines), None)
        if self._takers:
            return None
        return next((peer for peer in self._lines if not self._running[peer]), None)

    def done(self, ticket: CallTicket) -> None:
        self._running[ticket.peer] -= 1
        if not self._running[ticket.peer]:
            del self._running[ticket.peer]
            self._filled.set()

    def drain(self) -> list[CallTicket]:
        waiting = [ticket for line in self._lines.values() for ticket in line]
        self._lines.clear()
        return waiting


class Pool:
    def __init__(self, jail: Jail, size: int) -> None:
        self.jail = jail
        self._line = FairQueue()
        self._source_needs = SourceNeeds()
        self._size = size
        self._families = [Family(jail) for _ in range(size + 1)]
        self._tasks = [asyncio.create_task(self._serve(slot)) for slot in range(size + 1)]
        self.failures = 0

    def submit(self, peer: Hashable, ticket: CallTicket) -> None:
        self._line.put(peer, ticket)

    def pids(self) -> list[int]:
        return [pid for family in self._families for pid in family.pids()]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for ticket in self._line.drain():
            ticket.fail(_CLOSED)

    async def _serve(self, slot: int) -> None:
        try:
            while True:
                ticket = await self._line.get(idle_peers_only=slot == self._size)
                try:
                    if not ticket.answer.cancelled():
                        await self._answer(slot, ticket)
                finally:
                    self._line.done(ticket)
        finally:
            await self._families[slot].close()

    async def _answer(self, slot: int, ticket: CallTicket) -> None:
        ticket.running = running = asyncio.create_task(self._run(slot, ticket.call))
        try:
            await asyncio.wait([running])
        except asyncio.CancelledError:
            running.cancel()
            ticket.fail(_CLOSED)
            raise
        if running.cancelled():
            ticket.fail("the call was cancelled")
        elif error := running.exception():
            if not ticket.answer.done():
                ticket.answer.set_exception(error)
        elif not ticket.answer.done():
            ticket.answer.set_result(running.result())

    async def _run(self, slot: int, call: ScoringCall | ProgramCall) -> Answer:
        family, stored_needs = self._families[slot], self._source_needs.needs(call.source)
        needs = stored_needs or NOTHING
        try:
            try:
                answer: Answer = await call.serve(
                    await family.session(needs), self.jail.name, stored_needs is None
                )
            except NeedsLibraries as error:
                needs = error.modules
                answer = await call.serve(await family.session(needs), self.jail.name, False)
            if answer.status == "ok":
                self._source_needs.learn(call.source, needs)
        except LibraryBroken as error:
            return call.failed("load_error", f"a library cannot be used in the sandbox: {error}")
        except JailDied as error:
            self.failures += 1
            await family.drop(needs)
            return call.failed("sandbox_error", str(error))
        except BaseException:
            await family.drop(needs)
            raise
        return answer
