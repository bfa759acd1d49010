"""Rollout engine in a fork of this process. It has one thread: torch's thread pool does not
survive a fork.
"""

import asyncio
import contextlib
import gc
import itertools
import mmap
import os
import queue
import signal
import socket
import sys
import threading
import traceback
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import NoReturn

import torch
from torch import Tensor

from reinforge.system.launch import end_with_parent
from worker.machine.portable_error import portable
from worker.rollout.engine import Generated, GenerateRequest, RolloutEngine, Sample

Weights = Mapping[str, Tensor]
_SIGNALS = {signal.SIGINT, signal.SIGTERM}


class EngineLost(Exception):
    pass


class SharedWeights:
    def __init__(self, read: Callable[[], Weights], load: Callable[[Weights], None]) -> None:
        self._read, self._load = read, load
        weights = read()
        # An anonymous mapping: /dev/shm is small in containers.
        self._memory = mmap.mmap(-1, max(1, sum(tensor.nbytes for tensor in weights.values())))
        self._tensors: dict[str, Tensor] = {}
        offset = 0
        for key, tensor in weights.items():
            flat = torch.frombuffer(self._memory, dtype=tensor.dtype, count=tensor.numel(), offset=offset)
            self._tensors[key] = flat.view(tensor.shape)
            offset += tensor.nbytes

    def write(self) -> None:
        for key, tensor in self._read().items():
            self._tensors[key].copy_(tensor)

    def load(self) -> None:
        self._load(self._tensors)


@dataclass(frozen=True, slots=True)
class _Publish:
    policy: str
    version: int


@dataclass(frozen=True, slots=True)
class _Generate:
    call: int
    requests: Sequence[GenerateRequest]


@dataclass(frozen=True, slots=True)
class _Answer:
    call: int
    index: int | None
    samples: tuple[Sample, ...] = ()
    error: Exception | None = None


class ForkedEngine:
    """`RolloutEngine` in a fork; one `generate` at a time. Raises EngineLost if the fork has ended."""

    def __init__(self, engine: RolloutEngine, weights: SharedWeights) -> None:
        self._weights = weights
        self._sending = threading.Lock()
        self._calls = 0
        (ours, theirs), (self._cancelling, cancelled) = socket.socketpair(), socket.socketpair()
        self._cancelling.setblocking(False)
        parent = os.getpid()
        with ours, theirs, cancelled:
            # Until the fork has its own handlers, a signal would run its parent's.
            previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
            try:
                self._pid = os.fork()
                if self._pid == 0:
                    _run_fork(engine, weights, theirs.detach(), cancelled.detach(), parent)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
            self._pipe = Connection(ours.detach())

    @property
    def pid(self) -> int:
        return self._pid

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        self._calls += 1
        call, loop = self._calls, asyncio.get_running_loop()
        arrived: asyncio.Queue[_Answer | None] = asyncio.Queue()
        self._send(_Generate(call, requests))
        descriptor = self._pipe.fileno()

        def receive() -> None:
            answer = self._receive()
            if answer is None:
                loop.remove_reader(descriptor)
            arrived.put_nowait(answer)

        loop.add_reader(descriptor, receive)
        try:
            while (answer := await arrived.get()) is not None:
                if answer.call != call:
                    continue  # from an earlier call that was abandoned
                if answer.error is not None:
                    raise answer.error
                if answer.index is None:
                    return
                yield Generated(requests[answer.index], answer.samples)
            raise EngineLost(f"sampling process {self._pid} has ended")
        finally:
            # A closed pipe has no reader, and its descriptor may have been reused.
            if not self._pipe.closed:
                loop.remove_reader(descriptor)

    def cancel(self) -> None:
        """Cancel without a lock, so that a signal handler may call it."""
        with contextlib.suppress(OSError):
            self._cancelling.send(b"c")

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        self._weights.write()
        self._send(_Publish(policy, version))

    async def rest(self) -> None:
        """Keep all memory."""

    async def close(self) -> None:
        if self._pipe.closed:
            return
        asyncio.get_running_loop().remove_reader(self._pipe.fileno())
        with self._sending:
            self._pipe.close()
        self._cancelling.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _send(self, message: object) -> None:
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError as error:
            raise EngineLost(f"cannot send to sampling process {self._pid}: {error}") from error

    def _receive(self) -> _Answer | None:
        try:
            answer: _Answer = self._pipe.recv()
        except (EOFError, OSError):
            return None
        return answer


def _run_fork(
    engine: RolloutEngine, weights: SharedWeights, messages: int, cancelled: int, parent: int
) -> NoReturn:
    try:
        _set_up_fork((messages, cancelled), parent)
        asyncio.run(_ForkServer(engine, weights, Connection(messages), cancelled).run())
    except BaseException:  # noqa: BLE001 - no caller's code may run in the fork; the parent sees it end
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def _set_up_fork(open_descriptors: Sequence[int], parent: int) -> None:
    end_with_parent(parent, signal.SIGKILL)
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    # An inherited pipe or connection would never reach end-of-file for its reader.
    for low, high in itertools.pairwise((2, *sorted(open_descriptors), os.sysconf("SC_OPEN_MAX"))):
        os.closerange(low + 1, high)
    gc.freeze()
    torch.set_num_threads(1)


class _ForkServer:
    def __init__(
        self, engine: RolloutEngine, weights: SharedWeights, pipe: Connection, cancelled: int
    ) -> None:
        self._engine = engine
        self._weights = weights
        self._pipe = pipe
        self._cancelled = cancelled
        self._queue: queue.SimpleQueue[_Publish | _Generate] = queue.SimpleQueue()

    async def run(self) -> NoReturn:
        for listen in (self._listen, self._listen_for_cancel):
            threading.Thread(target=listen, daemon=True).start()
        while True:
            message = self._queue.get()
            if isinstance(message, _Publish):
                self._weights.load()
                await self._engine.publish(message.policy, message.version)
            else:
                self._send(await self._generate(message))

    async def _generate(self, message: _Generate) -> _Answer:
        index_of = {id(request): index for index, request in enumerate(message.requests)}
        try:
            async for answer in self._engine.generate(message.requests):
                self._send(_Answer(message.call, index_of[id(answer.request)], answer.samples))
        except Exception as error:  # noqa: BLE001 - raised again in the parent's `generate`
            return _Answer(message.call, None, error=portable(error, "sampling process"))
        return _Answer(message.call, None)

    def _send(self, answer: _Answer) -> None:
        try:
            self._pipe.send(answer)
        except OSError:
            os._exit(0)

    def _listen(self) -> None:
        while True:
            try:
                self._queue.put(self._pipe.recv())
            except (EOFError, OSError):
                os._exit(0)

    def _listen_for_cancel(self) -> None:
        while os.read(self._cancelled, 1):
            self._engine.cancel()
