"""Warm child processes with limited memory and environment; dead ones are replaced."""

import asyncio
import contextlib
import dataclasses
import io
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from anyio.lowlevel import RunVar
from pydantic import BaseModel

from backend.processes.child import LENGTH

IDLE_SECONDS = 300.0
SPARE_SECONDS = 10.0

MEMORY_BYTES = 2 << 30
"""Limit of a child's address space: enough for several decoded copies of 8 MiB rows, and Arrow's buffers."""
_ENVIRONMENT = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")

T = TypeVar("T")

_kinds: RunVar[dict[str, "Children"]] = RunVar("children")


class ChildDied(Exception):
    """A child ended without a valid response, mostly for lack of memory."""


class ReplyUnpickler(pickle.Unpickler):
    """Restricted unpickler that calls only constructors of data classes, pydantic models, exceptions and
    sets.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module == "builtins" or module.split(".")[0] in ("backend", "reinforge", "pyarrow"):
            cls = super().find_class(module, name)
            if isinstance(cls, type) and _is_data(cls):
                return cls
        raise pickle.UnpicklingError(
            f"the process's answer contains {module}.{name}, which is not an allowed type"
        )


def _is_data(kind: type) -> bool:
    return dataclasses.is_dataclass(kind) or issubclass(kind, (BaseException, BaseModel, set, frozenset))


class Children:
    def __init__(self) -> None:
        self._idle: list[asyncio.subprocess.Process] = []
        self._timers: dict[int, asyncio.TimerHandle] = {}

    async def ask(self, read: Callable[..., T], *arguments: Any) -> T:
        """Run `read` in a child and return its result. Raises what `read` raises, and ChildDied."""
        question = pickle.dumps((read, arguments), pickle.HIGHEST_PROTOCOL)
        child = await self._take()
        try:
            raised, value = ReplyUnpickler(io.BytesIO(await _request(child, question))).load()
        except BaseException as error:
            await end(child)
            if isinstance(error, (OSError, asyncio.IncompleteReadError, pickle.UnpicklingError)):
                raise ChildDied from error
            raise
        self._give_back(child)
        if raised:
            raise value
        result: T = value
        return result

    async def close(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        idle, self._idle = self._idle, []
        for child in idle:
            await end(child)

    async def _take(self) -> asyncio.subprocess.Process:
        while self._idle:
            child = self._idle.pop()
            self._timers.pop(child.pid).cancel()
            if child.returncode is None:
                return child
        return await start("backend.processes.child", str(MEMORY_BYTES), stdin=asyncio.subprocess.PIPE)

    def _give_back(self, child: asyncio.subprocess.Process) -> None:
        seconds = SPARE_SECONDS if self._idle else IDLE_SECONDS
        self._idle.append(child)
        loop = asyncio.get_running_loop()
        self._timers[child.pid] = loop.call_later(seconds, self._end_idle, child)

    def _end_idle(self, child: asyncio.subprocess.Process) -> None:
        self._idle.remove(child)
        del self._timers[child.pid]
        assert child.stdin is not None
        child.stdin.close()  # it ends with its input


async def _request(child: asyncio.subprocess.Process, question: bytes) -> bytes:
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(LENGTH.pack(len(question)) + question)
    await child.stdin.drain()
    (size,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
    return await child.stdout.readexactly(size)


async def start(module: str, *arguments: str, stdin: int) -> asyncio.subprocess.Process:
    """Start a module that reads untrusted bytes as a child process, which asyncio reaps."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module, *arguments),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        env=child_environment(),
        start_new_session=True,  # Linux may schedule a session as a group, with its own priority
    )


async def end(child: asyncio.subprocess.Process) -> None:
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
    await child.wait()


def children(kind: str) -> Children:
    kinds = _kinds.get(None)
    if kinds is None:
        _kinds.set(kinds := {})
    return kinds.setdefault(kind, Children())


async def close_children() -> None:
    for pool in (_kinds.get(None) or {}).values():
        await pool.close()


def child_environment() -> dict[str, str]:
    """Environment variables that give no access to the database, objects or workers."""
    inherited = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    return inherited | {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "OMP_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
    }
