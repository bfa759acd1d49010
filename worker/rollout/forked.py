"""An engine in a forked copy of this process, for a core that this process leaves idle.

The copy shares the base's memory and is there in milliseconds, without loading anything. Torch's pool of threads does
not survive a fork, so it computes with one thread. It ends with its parent, whatever ends that.
"""

import asyncio
import contextlib
import ctypes
import gc
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

from worker.rollout.engine import Generated, GenerateRequest, RolloutEngine, Sample

Weights = Mapping[str, Tensor]
_PR_SET_PDEATHSIG = 1


class EngineLost(Exception):
    """The process that sampled has ended; what it had not answered is open."""


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
    """`index` None: no more answers of this call; with an `error` there should have been more."""

    call: int
    index: int | None
    samples: tuple[Sample, ...] = ()
    error: str | None = None


class _Cancel:
    pass


class ForkedEngine:
    """`RolloutEngine` that hands everything to `engine` in a copy of this process, made now: OSError where none can be.

    weights: the policy's, asked for at each `publish`; `take` gives them to the policy of the copy.
    """

    def __init__(
        self, engine: RolloutEngine, weights: Callable[[], Weights], take: Callable[[Weights], None]
    ) -> None:
        self._weights = weights
        self._shared = _shared(weights())
        self._sending = threading.Lock()
        self._calls = 0
        ours, theirs = socket.socketpair()
        with ours, theirs:
            parent = os.getpid()
            self._pid = os.fork()
            if self._pid == 0:
                _sample_until_the_end(engine, lambda: take(self._shared), theirs.detach(), parent)
            self._pipe = Connection(ours.detach())

    @property
    def pid(self) -> int:
        return self._pid

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        """Raises EngineLost, and RuntimeError with the words of what the engine raised."""
        self._calls += 1
        call, loop = self._calls, asyncio.get_running_loop()
        arrived: asyncio.Queue[_Answer | None] = asyncio.Queue()
        self._send(_Generate(call, requests))
        loop.add_reader(self._pipe.fileno(), lambda: arrived.put_nowait(self._receive()))
        try:
            while (answer := await arrived.get()) is not None:
                if answer.call != call:
                    continue  # of a call whose caller went away
                if answer.error is not None:
                    raise RuntimeError(answer.error)
                if answer.index is None:
                    return
                yield Generated(requests[answer.index], answer.samples)
            raise EngineLost(f"process {self._pid}, which sampled, has ended")
        finally:
            loop.remove_reader(self._pipe.fileno())

    def cancel(self) -> None:
        with contextlib.suppress(EngineLost):
            self._send(_Cancel())

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        for key, tensor in self._weights().items():
            self._shared[key].copy_(tensor)
        self._send(_Publish(policy, version))

    async def close(self) -> None:
        if self._pipe.closed:
            return
        self._pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _send(self, message: object) -> None:
        """Raises EngineLost."""
        try:
            with self._sending:
                self._pipe.send(message)
        except OSError as error:
            raise EngineLost(f"process {self._pid}, which samples, does not listen: {error}") from error

    def _receive(self) -> _Answer | None:
        """None when there will be no more."""
        try:
            found: _Answer = self._pipe.recv()
        except (EOFError, OSError):
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            return None
        return found


def _shared(weights: Weights) -> dict[str, Tensor]:
    """Tensors as these in memory that the copy shares. An anonymous mapping: /dev/shm is small in containers."""
    made = {}
    for key, tensor in weights.items():
        memory = mmap.mmap(-1, max(1, tensor.nbytes))
        made[key] = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel()).view(tensor.shape)
    return made


def _sample_until_the_end(
    engine: RolloutEngine, take: Callable[[], None], descriptor: int, parent: int
) -> NoReturn:
    """What the copy does; it never goes on to what its parent does next."""
    try:
        _become_a_copy(descriptor, parent)
        asyncio.run(_Served(engine, take, Connection(descriptor)).run())
    except BaseException:  # noqa: BLE001 - nothing above this may run in the copy; its parent sees it end
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(1)


def _become_a_copy(descriptor: int, parent: int) -> None:
    """End with the parent, leave its files and signals to it."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    # A record pipe or a sandbox's connection held here would never end for whoever reads it.
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, os.sysconf("SC_OPEN_MAX"))
    gc.freeze()
    torch.set_num_threads(1)


class _Served:
    """The copy's side of the pipe."""

    def __init__(self, engine: RolloutEngine, take: Callable[[], None], pipe: Connection) -> None:
        self._engine = engine
        self._take = take
        self._pipe = pipe
        self._asked: queue.SimpleQueue[_Publish | _Generate] = queue.SimpleQueue()

    async def run(self) -> NoReturn:
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            asked = self._asked.get()
            if isinstance(asked, _Publish):
                self._take()
                await self._engine.publish(asked.policy, asked.version)
            else:
                self._pipe.send(await self._generate(asked))

    async def _generate(self, asked: _Generate) -> _Answer:
        """The last answer of the call, with the others sent."""
        index_of = {id(request): index for index, request in enumerate(asked.requests)}
        try:
            async for answer in self._engine.generate(asked.requests):
                self._pipe.send(_Answer(asked.call, index_of[id(answer.request)], answer.samples))
        except Exception as error:  # noqa: BLE001 - raised where the samples were asked for
            return _Answer(asked.call, None, error="".join(traceback.format_exception(error)))
        return _Answer(asked.call, None)

    def _listen(self) -> None:
        """In a thread of its own, so that a cancellation is heard while the engine samples."""
        while True:
            try:
                message = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            if isinstance(message, _Cancel):
                self._engine.cancel()
            else:
                self._asked.put(message)
