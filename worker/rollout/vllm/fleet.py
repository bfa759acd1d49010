"""Rollout engine on several vLLM servers, which share one queue of requests."""

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from operator import methodcaller
from pathlib import Path

from reinforge.errors import JobFailure
from worker.rollout.engine import Generated, GenerateRequest, RequestQueue
from worker.rollout.vllm.adapters import Adapters
from worker.rollout.vllm.api import ServerLost
from worker.rollout.vllm.dealer import Dealer
from worker.rollout.vllm.engine import Export
from worker.rollout.vllm.member import FleetMember, check_versions
from worker.rollout.vllm.server import Stopped

_LOOK_SECONDS = 0.2
_STOP_SECONDS = 5.0


class Fleet:
    """`ContinuousEngine` over vLLM servers of one model. Each is restarted once, while the others go on."""

    def __init__(
        self, members: Sequence[FleetMember], adapters: Adapters, export: Export, warn: Callable[[str], None]
    ) -> None:
        """adapters: of all members, in a folder that all of them can read."""
        self._members, self._adapters = members, adapters
        self._export, self._warn = export, warn
        self._started, self._closed = False, False
        self._cancelled = threading.Event()
        self._publishing = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._dealer: Dealer | None = None
        self._failure: JobFailure | None = None
        self._restarts: set[asyncio.Task[None]] = set()
        for member in members:
            member.server.stopped = self._stops

    @property
    def live(self) -> list[FleetMember]:
        return [member for member in self._members if member.state == "live"]

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        queue = RequestQueue(requests)
        queue.close()
        async with aclosing(self.generate_from(queue)) as answers:
            async for answer in answers:
                yield answer

    async def generate_from(self, queue: RequestQueue) -> AsyncGenerator[Generated, None]:
        self._loop = asyncio.get_running_loop()
        dealer = self._dealer = Dealer(queue, self._adapters.name, self._lose)
        try:
            with contextlib.suppress(Stopped):
                await self._start()
            while not dealer.done and not self._cancelled.is_set():
                self._check_live()
                dealer.deal(self.live)
                if (answer := await dealer.next()) is not None:
                    yield answer
            if self._cancelled.is_set():
                async with aclosing(dealer.cancelled()) as answers:
                    async for answer in answers:
                        yield answer
        finally:
            self._dealer = None
            await dealer.close()
            self._cancelled.clear()

    def cancel(self) -> None:
        self._cancelled.set()
        if (loop := self._loop) is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._wake)

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        with contextlib.suppress(Stopped):
            await self._start()
            async with self._publishing:
                new = self._adapters.new(policy, version, path)
                if new.owned:
                    self._export(policy, new.folder)
                await self._on_live(methodcaller("load", new))
                for old in self._adapters.add(new):
                    await self._on_live(methodcaller("unload", old.name))
            await self._until_live()

    async def rest(self) -> None:
        await self._on_live(FleetMember.rest)

    async def close(self) -> None:
        self._closed = True
        for task in self._restarts:
            task.cancel()
        await asyncio.gather(*self._restarts, return_exceptions=True)
        await asyncio.gather(*(member.server.close() for member in self._members))

    async def _start(self) -> None:
        async with self._publishing:
            if self._started:
                return
            tasks = [asyncio.create_task(member.start()) for member in self._members]
            try:
                versions = await asyncio.gather(*tasks)
                check_versions([member.name for member in self._members], versions)
            except Stopped:
                await asyncio.gather(*tasks, return_exceptions=True)
                raise
            except BaseException:
                self._closed = True  # starts that look at it end by themselves, and know what to undo
                await asyncio.wait(tasks, timeout=_STOP_SECONDS)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self.close()
                raise
            self._started = True

    async def _on_live(self, call: Callable[[FleetMember], Awaitable[None]]) -> None:
        async def on(member: FleetMember) -> None:
            try:
                await call(member)
            except ServerLost as error:
                self._lose(member, str(error))

        await asyncio.gather(*(on(member) for member in self.live))

    async def _until_live(self) -> None:
        while not self.live and not self._cancelled.is_set():
            self._check_live()
            await asyncio.wait(self._restarts, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)

    def _check_live(self) -> None:
        if all(member.state == "lost" for member in self._members):
            assert self._failure is not None
            raise self._failure

    def _lose(self, member: FleetMember, why: str) -> None:
        if member.state != "live" or self._closed:
            return
        member.state = "restarting"
        others = len(self.live)
        others_text = "the other one" if others == 1 else f"the other {others}"
        what = f"go to {others_text}" if others else "wait for a restart"
        self._warn(f"{member.name} of {len(self._members)} failed ({why}): its requests {what}")
        restart = asyncio.create_task(self._restart(member, why))
        self._restarts.add(restart)
        restart.add_done_callback(self._restarts.discard)

    async def _restart(self, member: FleetMember, why: str) -> None:
        while member.state == "restarting":
            try:
                await member.server.restart(why)
                async with self._publishing:
                    for version in self._adapters.held:
                        await member.load_again(version)
                    member.state = "live"
            except ServerLost as error:
                why = str(error)
            except Exception as error:  # noqa: BLE001 - raised once no server is left
                self._remove(member, error)
        self._wake()

    def _remove(self, member: FleetMember, error: Exception) -> None:
        member.state = "lost"
        self._failure = error if isinstance(error, JobFailure) else _not_restarted(member, error)
        left = sum(other.state != "lost" for other in self._members)
        if left:
            self._warn(f"{member.name} is not used again, {left} left: {error}")

    def _wake(self) -> None:
        if self._dealer is not None:
            self._dealer.wake()

    def _stops(self) -> bool:
        """Whether to give up a start: a restart goes on, for the requests that follow."""
        return self._closed or (self._cancelled.is_set() and not self._started)


def _not_restarted(member: FleetMember, error: Exception) -> JobFailure:
    return JobFailure(
        f"{member.name} could not be restarted: {error or type(error).__name__}",
        code="vllm_lost",
        hint="The worker's log says more.",
    )
