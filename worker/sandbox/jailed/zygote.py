"""The trusted zygote: forks a child per run, watches it, kills it in time, and copies out what it left.

It never compiles, imports or parses anything a user wrote. Requests and replies pass through anonymous memory
maps that are dropped after each call, never through its heap: a child forked for one job cannot find
another job's rows in the memory it inherits.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, NoReturn

from . import child, kernel, region

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HOME": "/"}
"""All there is: libraries must not start threads, for a jail has none; NLTK wants a home before it can be imported."""

STARVED_GRACE = 2.0
"""A unit that had too little CPU to spend its budget may take this many times longer (a busy machine)."""


@dataclass(slots=True)
class Call:
    """The request at hand. ``body`` lies in a map of its own; ``budgets`` are seconds per unit."""

    body: mmap
    rows: int
    budgets: Sequence[float]
    load: float
    cpu: float


@dataclass(slots=True)
class Outcome:
    """How a child ended: wait status, cause, progress, seconds of CPU, of wall, and since its last unit began."""

    status: int = 0
    cause: int = region.ENDED_ITSELF
    progress: int = region.NOT_STARTED
    cpu: float = 0.0
    wall: float = 0.0
    unit_wall: float = 0.0


def main(channel: int) -> NoReturn:
    """Lock this process down as the first frame says, then serve calls until the host goes away."""
    config = json.loads(_read_frame(channel))
    devnull = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    try:
        zygote = Zygote(channel, devnull, config)
        abi = _enter(config)
    except (OSError, ImportError, KeyError, ValueError) as error:
        _send_frame(channel, region.FAILED, [f"{type(error).__name__}: {error}".encode()])
        os._exit(1)
    os.dup2(devnull, 2)
    gc.collect()
    gc.freeze()
    hello = region.HELLO.pack(os.getpid(), os.getuid(), abi, *sys.version_info[:3])
    _send_frame(channel, region.READY, [hello])
    zygote.serve()


def _enter(config: dict[str, Any]) -> int:
    """Put on every restriction, then import what rewards may use; returns the Landlock ABI."""
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    abi = kernel.landlock_abi()
    kernel.die_with_parent(config["parent"])
    kernel.forbid_inspection()
    if config["readable"] is not None:  # else a mount namespace is around this process
        kernel.restrict_paths(config["readable"])
    kernel.install_filter(bytes.fromhex(config["zygote_filter"]))
    sys.path[:] = [p for p in sys.path if p != config["program"]] + [config["site"]]
    language_data = f"{config['site']}/nltk_data"
    if os.access(language_data, os.R_OK):
        os.environ["NLTK_DATA"] = language_data
    for name in config["preload"]:
        importlib.import_module(name)
    return abi


class Zygote:
    """Serves the host's frames. One child at a time."""

    def __init__(self, channel: int, devnull: int, config: dict[str, Any]) -> None:
        self._channel = channel
        self._devnull = devnull
        self._filter = bytes.fromhex(config["child_filter"])
        self._pid_hole = int(config["pid_hole"])
        self._rlimits: dict[str, int] = config["rlimits"]
        self._libraries: dict[str, list[str]] = config["libraries"]
        self._absent: list[str] = config["absent"]
        self._own_space = 0
        self._call: Call | None = None

    def serve(self) -> NoReturn:
        self._own_space = kernel.address_space()
        head = bytearray(region.CALL.size)
        while True:
            _read_into(self._channel, memoryview(head))
            op, rows, units, start, size, left, load, cpu = region.CALL.unpack(head)
            if op == region.OP_PRELOAD:
                self._preload(size)
                continue
            if op == region.OP_CALL:
                self._call = self._receive(rows, units, size, load, cpu)
            if op == region.OP_FORGET or self._call is None:
                self._call = None
                continue
            self._run(self._call, start, left)

    def _receive(self, rows: int, units: int, size: int, load: float, cpu: float) -> Call:
        raw = bytearray(8 * units)
        _read_into(self._channel, memoryview(raw))
        # private: a child must not edit the request for the one that takes over from it
        body = mmap(-1, max(size, 1), flags=MAP_PRIVATE | MAP_ANONYMOUS)
        with memoryview(body) as view:
            _read_into(self._channel, view[:size])
        return Call(body, rows, struct.unpack(f"<{units}d", raw), load, cpu)

    def _preload(self, size: int) -> None:
        """Import libraries of the closed list, so that children find them loaded."""
        body = bytearray(size)
        _read_into(self._channel, memoryview(body))
        known = {module for modules in self._libraries.values() for module in modules}
        failed = b""
        for name in filter(known.__contains__, body.decode().split("\n")):
            try:
                importlib.import_module(name)
                WARM_UP.get(name, _nothing)()
            except Exception as error:  # noqa: BLE001 - a library that does not work is the host's to report
                failed = f"{name}: {type(error).__name__}: {error}"[:1000].encode("utf-8", "replace")
        gc.collect()
        gc.freeze()
        self._own_space = kernel.address_space()
        _send_frame(self._channel, region.PRELOADED, [failed])

    def _run(self, call: Call, start: int, left: float) -> None:
        shared = mmap(-1, region.region_size(call.rows))
        region.HEADER.pack_into(shared, 0, region.LOADING, start, 0, 0, 0, time.monotonic(), 0.0)
        log_read, log_write = os.pipe()
        progress_read, progress_write = os.pipe()
        os.set_blocking(log_read, False)
        rlimits = {
            **self._rlimits,
            "AS": self._rlimits["AS"] + self._own_space,
            "CPU": min(self._rlimits["CPU"], max(1, round(call.cpu))),
        }
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            task = child.Task(
                memoryview(call.body), shared, call.rows, start, call.budgets,
                self._filter, self._pid_hole, rlimits, parent, self._libraries, self._absent,
            )  # fmt: skip
            child.run(task, log=log_write, progress=progress_write, devnull=self._devnull)
        os.close(log_write)
        os.close(progress_write)
        watch = Watch(pid, shared, call, left, log_read, progress_read)
        outcome = watch.until_dead()
        if parent == 1:
            _sweep()
        self._reply(call, start, outcome, shared, watch)
        watch.close()

    def _reply(self, call: Call, start: int, outcome: Outcome, shared: mmap, watch: "Watch") -> None:
        """Send what the child left. It is dead, so nothing changes any more; nothing is copied into the heap."""
        done = region.DONE.pack(
            start, call.rows, outcome.status, outcome.cause, outcome.progress,
            outcome.cpu, outcome.wall, outcome.unit_wall, watch.log_kept,
        )  # fmt: skip
        with memoryview(shared) as view, memoryview(watch.log) as log:
            pieces: list[bytes | memoryview] = [done, view[: region.slot_offset(call.rows)]]
            for row in range(call.rows):
                slot = region.Slot._make(region.SLOT.unpack_from(shared, region.slot_offset(row)))
                for offset, length in zip(region.windows(call.rows, row), slot.used(), strict=True):
                    if length:
                        pieces.append(view[offset : offset + length])
            pieces.append(log[: watch.log_kept])
            _send_frame(self._channel, region.REPLY, pieces)
            for piece in pieces[1:]:
                piece.release()  # type: ignore[union-attr]


class Watch:
    """Watches one child until it is dead: deadlines, progress, output."""

    def __init__(self, pid: int, shared: mmap, call: Call, left: float, log: int, progress: int) -> None:
        self._pid, self._shared, self._call = pid, shared, call
        self._log_fd, self._progress_fd = log, progress
        self._began = time.monotonic()
        self._end = self._began + left
        self._pidfd = os.pidfd_open(pid)
        self._poll = select.poll()
        self._open = {self._pidfd, log, progress}
        for descriptor in self._open:
            self._poll.register(descriptor, select.POLLIN)
        self.log = mmap(-1, region.LOG_BYTES + (1 << 16))
        self.log_kept = 0
        self._log_total = 0
        self._outcome = Outcome()

    def until_dead(self) -> Outcome:
        outcome = self._outcome
        ready: set[int] = set()
        while self._pidfd not in ready and outcome.cause == region.ENDED_ITSELF:
            outcome.cause, wait = self._judge()
            if outcome.cause == region.ENDED_ITSELF:
                ready = {descriptor for descriptor, _ in self._poll.poll(wait)}
                self._take(ready)
        if outcome.cause != region.ENDED_ITSELF:
            os.kill(self._pid, signal.SIGKILL)
        _, outcome.status, usage = os.wait4(self._pid, 0)
        now = time.monotonic()
        outcome.cpu = usage.ru_utime + usage.ru_stime
        outcome.wall, outcome.unit_wall = now - self._began, now - self._unit_began(now)
        self._take(self._open)
        return outcome

    def close(self) -> None:
        for descriptor in (self._pidfd, self._log_fd, self._progress_fd):
            os.close(descriptor)

    def _judge(self) -> tuple[int, int]:
        """(why the child has to end now or ENDED_ITSELF, milliseconds to look again)."""
        header = region.Header._make(region.HEADER.unpack_from(self._shared, 0))
        now = time.monotonic()
        if now >= self._end:
            return region.CALL_DEADLINE, 0
        if self._log_total > region.FLOOD_BYTES:
            return region.OUTPUT_FLOOD, 0
        running = self._outcome.progress >= region.RUNNING
        if running:
            budget = self._call.budgets[min(header.unit, len(self._call.budgets) - 1)]
            began, cpu_began = self._unit_began(now), header.cpu_started
        else:
            budget, began, cpu_began = self._call.load, self._began, 0.0
        if now - began >= budget:
            starved = self._cpu() - cpu_began < 0.9 * budget and now - began < STARVED_GRACE * budget
            if not starved:
                return (region.UNIT_TIMEOUT if running else region.LOAD_TIMEOUT), 0
        # the child moves to its next unit without waking anyone, hence a few looks per budget
        due = min(self._end - now, max(began + budget - now, 0.01), budget / 8)
        return region.ENDED_ITSELF, max(1, int(due * 1000) + 1)

    def _unit_began(self, now: float) -> float:
        """The child's own word, clamped: the call's deadline does not depend on it."""
        started = region.Header._make(region.HEADER.unpack_from(self._shared, 0)).started
        return min(max(started, self._began), now) if started == started else self._began

    def _cpu(self) -> float:
        return time.clock_gettime((~self._pid << 3) | 2)  # CPUCLOCK_SCHED of another process

    def _take(self, ready: set[int]) -> None:
        ready = ready & self._open
        if self._progress_fd in ready:
            data = os.read(self._progress_fd, 16)
            self._outcome.progress = min(self._outcome.progress + len(data), region.RUNNING)
            if not data:
                self._ended(self._progress_fd)
        if self._log_fd in ready and self._drain():
            self._ended(self._log_fd)

    def _ended(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        self._open.remove(descriptor)

    def _drain(self) -> bool:
        """Read what the pipe holds, keep the beginning; True at its end."""
        with memoryview(self.log) as log:
            while self._log_total <= region.FLOOD_BYTES:
                try:
                    count = os.readv(self._log_fd, [log[self.log_kept :]])
                except BlockingIOError:
                    return False
                if count == 0:
                    return True
                self._log_total += count
                self.log_kept = min(self.log_kept + count, region.LOG_BYTES)
        return False


def _warm_math_verify() -> None:
    """Its first answer takes a tenth of a second: grammars and patterns are built then."""
    library: Any = sys.modules["math_verify"]
    half = library.parse(r"$\boxed{\frac{1}{2}}$")
    library.verify(half, library.parse("0.5"))


def _warm_sympy_latex() -> None:
    library: Any = sys.modules["sympy.parsing.latex"]
    library.parse_latex(r"\frac{1}{2}")


def _warm_nltk() -> None:
    """It refuses data of another user; in a jail they belong to whoever made the prefix."""
    library: Any = importlib.import_module("nltk.pathsec")
    library.ENFORCE = False


def _warm_pydantic() -> None:
    """Its first model looks for plugins among all installed packages."""
    library: Any = sys.modules["pydantic"]
    library.create_model("Warm", number=(int, ...))(number=1)


def _nothing() -> None:
    """Most libraries are ready once imported."""


WARM_UP = {
    "math_verify": _warm_math_verify,
    "nltk": _warm_nltk,
    "pydantic": _warm_pydantic,
    "sympy.parsing.latex": _warm_sympy_latex,
}
"""Run once a module is loaded, in the zygote: what its first use would cost in every child."""


def _sweep() -> None:
    """As process 1 of a namespace: end and reap whatever a child may have left, so that no call meets another's."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _read_into(channel: int, view: memoryview) -> None:
    done = 0
    while done < len(view):
        count = os.readv(channel, [view[done:]])
        if count == 0:
            os._exit(0)  # the host went away
        done += count


def _read_frame(channel: int) -> bytes:
    size = bytearray(4)
    _read_into(channel, memoryview(size))
    body = bytearray(int.from_bytes(size, "little"))
    _read_into(channel, memoryview(body))
    return bytes(body)


def _send_frame(channel: int, kind: int, pieces: Sequence[bytes | memoryview]) -> None:
    head = region.FRAME.pack(region.MAGIC, kind, sum(len(piece) for piece in pieces))
    for piece in (head, *pieces):
        done = 0
        while done < len(piece):
            done += os.write(channel, piece[done:])


if ctypes.sizeof(ctypes.c_void_p) != 8:
    raise ImportError("the jail's structs assume 64-bit pointers")
