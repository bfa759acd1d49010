"""The pool: a few jails, shared fairly between the processes that ask.

Each of its tasks owns one jail. Calls wait in one line per asking process and are taken from the lines in turn, so
a job with a thousand rows does not make another wait for more than the calls at hand.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from .calls import Call, NeedsLibraries
from .families import NOTHING, Family, KnownSources, LibraryBroken
from .jails import Jail
from .outcome import CallOutcome, ProgramsOutcome, Validation
from .programs import ProgramCall
from .session import JailDied

Answer = CallOutcome | Validation | ProgramsOutcome

_CLOSED = "the sandbox was closed while the call waited or ran"


@dataclass(slots=True)
class Ticket:
    """A call that waits or runs. Cancel it when nobody wants its answer any more."""

    call: Call | ProgramCall
    answer: "asyncio.Future[Answer]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    running: "asyncio.Task[Answer] | None" = None

    def cancel(self) -> None:
        self.answer.cancel()
        if self.running is not None:
            self.running.cancel()

    def fail(self, message: str) -> None:
        """Answer with ``sandbox_error`` unless there is an answer already."""
        if not self.answer.done():
            self.answer.set_result(self.call.failed("sandbox_error", message))


class FairLine:
    """A queue with one line per peer; :meth:`get` takes from the lines in turn."""

    def __init__(self) -> None:
        self._lines: OrderedDict[Hashable, deque[Ticket]] = OrderedDict()
        self._filled = asyncio.Event()

    def put(self, peer: Hashable, ticket: Ticket) -> None:
        self._lines.setdefault(peer, deque()).append(ticket)
        self._filled.set()

    async def get(self) -> Ticket:
        while not self._lines:
            self._filled.clear()
            await self._filled.wait()
        peer, line = self._lines.popitem(last=False)
        ticket = line.popleft()
        if line:
            self._lines[peer] = line
        return ticket

    def drain(self) -> list[Ticket]:
        """Take all that wait."""
        waiting = [ticket for line in self._lines.values() for ticket in line]
        self._lines.clear()
        return waiting


class Pool:
    """``size`` jails that serve tickets until :meth:`close`."""

    def __init__(self, jail: Jail, size: int) -> None:
        self.jail = jail
        self._line = FairLine()
        self._known = KnownSources()
        self._families = [Family(jail) for _ in range(size)]
        self._tasks = [asyncio.create_task(self._serve(slot)) for slot in range(size)]
        self.failures = 0
        """Calls that ended because of a jail, not of a reward."""

    def submit(self, peer: Hashable, ticket: Ticket) -> None:
        self._line.put(peer, ticket)

    def pids(self) -> list[int]:
        return [pid for family in self._families for pid in family.pids()]

    async def close(self) -> None:
        """Kill the jails; calls that wait or run are answered with ``sandbox_error``."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for ticket in self._line.drain():
            ticket.fail(_CLOSED)

    async def _serve(self, slot: int) -> None:
        try:
            while True:
                ticket = await self._line.get()
                if not ticket.answer.cancelled():
                    await self._answer(slot, ticket)
        finally:
            await self._families[slot].close()

    async def _answer(self, slot: int, ticket: Ticket) -> None:
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

    async def _run(self, slot: int, call: Call | ProgramCall) -> Answer:
        """Run a call in the jail that has what it imports; a new source runs first where there is nothing."""
        family, known = self._families[slot], self._known.needs(call.source)
        needs = known or NOTHING
        try:
            try:
                answer: Answer = await call.serve(await family.session(needs), self.jail.name, known is None)
            except NeedsLibraries as error:
                needs = error.modules
                answer = await call.serve(await family.session(needs), self.jail.name, False)
            if answer.status == "ok":
                self._known.learn(call.source, needs)
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
