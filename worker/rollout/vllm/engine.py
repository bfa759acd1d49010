"""Rollout engine on a vLLM server, which gets each update as an adapter."""

import asyncio
import contextlib
import itertools
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from worker.rollout.engine import FinishReason, Generated, GenerateRequest, RequestQueue, Sample
from worker.rollout.vllm.adapters import Adapters, Version, discard
from worker.rollout.vllm.api import Api, Piece, ServerLost, ServerRefused, completion, sampled
from worker.rollout.vllm.server import SamplerServer, Stopped

_LOOK_SECONDS = 1.0

Export = Callable[[str, Path], None]


class Probe(Protocol):
    async def look(self, api: Api, requests: Sequence[GenerateRequest], names: Sequence[str]) -> bool:
        """Check adapters; returns whether the check was conclusive. Raises JobFailure, ServerLost."""


class VllmEngine:
    def __init__(
        self,
        server: SamplerServer,
        export: Export,
        *,
        staleness: int = 0,
        probe: Probe | None = None,
        adapters: Adapters | None = None,
    ) -> None:
        """adapters: those that a fleet publishes on all of its servers."""
        self._server, self._export = server, export
        self._probe = probe
        self._adapters = adapters or Adapters(server.adapters, staleness=staleness)
        self._cancelled = threading.Event()
        server.stopped = self._cancelled.is_set
        self._running: _RunningRequests | None = None

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        """Raises JobFailure; ValueError for an unknown version."""
        queue = RequestQueue(requests)
        queue.close()
        async with aclosing(self.generate_from(queue)) as answers:
            async for answer in answers:
                yield answer

    async def generate_from(self, queue: RequestQueue) -> AsyncGenerator[Generated, None]:
        waiting = _WaitingRequests(queue, self._adapters.name)
        waiting.admit()
        try:
            while waiting.requests or not queue.closed:
                try:
                    await self._look(list(waiting.requests.values()))
                    async with aclosing(self._round(waiting)) as answers:
                        async for number, answer in answers:
                            del waiting.requests[number]
                            yield answer
                    if self._cancelled.is_set() and not waiting.requests:
                        return
                except ServerLost as error:
                    await self._recover(str(error))
                except ServerRefused as error:
                    raise self._server.refusal("the request", str(error)) from error
        except Stopped:
            for request in waiting.requests.values():
                yield Generated(request, (Sample((), (), "cancelled"),) * request.n)
        finally:
            self._cancelled.clear()

    def cancel(self) -> None:
        self._cancelled.set()
        if running := self._running:
            running.wake()

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        """Publish a version, unless cancelled while the server starts. Raises JobFailure."""
        with contextlib.suppress(Stopped):
            await self._publish(policy, version, path)

    async def _publish(self, policy: str, version: int, path: Path | None) -> None:
        await self._server.ready()
        new = self._adapters.new(policy, version, path)
        if new.owned:
            self._export(policy, new.folder)
        try:
            api = await self._load(new)
        except (ServerRefused, ServerLost) as error:
            await self._recover(str(error))
            try:
                api = await self._load(new)
            except ServerRefused as again:
                discard(new)
                raise self._server.refusal("the adapter", str(again)) from again
            except ServerLost as again:
                api = await self._server.restart(str(again))  # raises: it has been
        for old in self._adapters.add(new):
            try:
                await api.unload(old.name)
            except ServerLost as error:
                api = await self._recover(str(error))
            except ServerRefused:
                pass  # a fresh server has never heard of it

    async def rest(self) -> None:
        try:
            await self._server.rest()
        except ServerLost as error:
            with contextlib.suppress(Stopped):
                await self._recover(str(error))
        except ServerRefused as error:
            raise self._server.refusal("the request to sleep", str(error)) from error

    async def close(self) -> None:
        await self._server.close()

    async def _load(self, version: Version) -> Api:
        api = await self._server.awake()
        await api.load(version.name, version.folder)
        return api

    async def _recover(self, why: str) -> Api:
        api = await self._server.restart(why)
        for version in self._adapters.held:
            try:
                await api.load(version.name, version.folder)
            except ServerRefused as error:
                raise self._server.refusal("the adapter", str(error)) from error
            except ServerLost as error:
                await self._server.restart(str(error))  # raises
        return api

    async def _look(self, requests: Sequence[GenerateRequest]) -> None:
        updated = [request for request in requests if request.policy is not None and request.version > 0]
        if self._probe is None or not updated:
            return
        api = await self._server.awake()
        if await self._probe.look(api, updated, [self._adapters.name(request) for request in updated]):
            self._probe = None

    async def _round(self, waiting: "_WaitingRequests") -> AsyncGenerator[tuple[int, Generated], None]:
        """Yield answers as they finish, until no request is left that may share the batch. If cancelled,
        yield all remaining answers.
        """
        api = await self._server.awake()
        running = self._running = _RunningRequests(api)
        waiting.queue.on_change = running.wake
        # vLLM on the CPU applies some adapter to rows without one that share a batch with others.
        adapted = any(request.policy is not None for request in waiting.requests.values())
        try:
            while True:
                if self._cancelled.is_set():
                    await running.stop()
                    for number, request in list(waiting.requests.items()):
                        yield number, running.answer(number, request)
                    return
                waiting.admit()
                for number, request in waiting.requests.items():
                    if (request.policy is not None) == adapted:
                        running.start(number, request, waiting.name(request))
                if not running.open and (waiting.requests or waiting.queue.closed):
                    return
                ended = await running.next(self._server.quiet_seconds)
                if ended is not None:
                    yield ended, running.answer(ended, waiting.requests[ended])
        finally:
            self._running, waiting.queue.on_change = None, lambda: None
            await running.stop()


class _WaitingRequests:
    def __init__(self, queue: RequestQueue, name: Callable[[GenerateRequest], str]) -> None:
        self.queue, self.name = queue, name
        self.requests: dict[int, GenerateRequest] = {}
        self._numbers = itertools.count()

    def admit(self) -> None:
        for request in self.queue.take():
            self.name(request)
            self.requests[next(self._numbers)] = request


@dataclass
class _PartialCompletion:
    token_ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    reason: FinishReason = "cancelled"

    def add(self, piece: Piece) -> None:
        self.token_ids += piece.token_ids
        self.logprobs += piece.logprobs
        self.reason = piece.finish_reason or self.reason


class _RunningRequests:
    def __init__(self, api: Api) -> None:
        self._api = api
        self._growing: dict[int, list[_PartialCompletion]] = {}
        self._ended: asyncio.Queue[tuple[int | None, Exception | None]] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._last_piece_at = time.monotonic()
        self.open: set[int] = set()

    def start(self, number: int, request: GenerateRequest, name: str) -> None:
        if number in self._growing:
            return
        if not self.open:
            self._last_piece_at = time.monotonic()
        self._growing[number] = [_PartialCompletion() for _ in range(sampled(request))]
        self.open.add(number)
        self._tasks.append(asyncio.create_task(self._run(number, request, name)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def wake(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.put_nowait, (None, None))

    async def next(self, quiet_seconds: float) -> int | None:
        """Number of a request that has ended; None after another event or a short wait."""
        try:
            # Not `wait_for`, which before Python 3.12 swallows a cancellation that meets a result.
            async with asyncio.timeout(min(_LOOK_SECONDS, quiet_seconds)):
                number, error = await self._ended.get()
        except TimeoutError:
            if self.open and time.monotonic() - self._last_piece_at > quiet_seconds:
                raise ServerLost(f"not a word for {quiet_seconds:g} s") from None
            return None
        if error is not None:
            raise error
        if number is not None:
            self.open.discard(number)
        return number

    def answer(self, number: int, request: GenerateRequest) -> Generated:
        growing = self._growing.get(number) or [_PartialCompletion()]
        samples = [Sample(tuple(state.token_ids), tuple(state.logprobs), state.reason) for state in growing]
        return Generated(request, tuple(samples * (request.n // len(samples))))

    async def _run(self, number: int, request: GenerateRequest, name: str) -> None:
        growing = self._growing[number]
        try:
            async with aclosing(self._api.complete(completion(name, request))) as pieces:
                async for piece in pieces:
                    self._last_piece_at = time.monotonic()
                    growing[piece.sample].add(piece)
            if any(state.reason == "cancelled" for state in growing):
                raise ServerLost("a completion ended without a finish reason")
        except (ServerRefused, ServerLost) as error:
            self._ended.put_nowait((None, error))
            return
        self._ended.put_nowait((number, None))
