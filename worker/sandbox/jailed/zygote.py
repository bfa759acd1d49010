"""The trusted zygote: forks a child per run, watches it, and copies its results.

Rows stay in memory maps that are dropped after each call: a child must not inherit another job's rows.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import signal
import struct
import sys
import time
from collections.abc import Sequence
from mmap import MAP_ANONYMOUS, MAP_POPULATE, MAP_PRIVATE, mmap
from typing import Any, NoReturn

from . import child, kernel, region
from .warm import warm_up
from .watch import ChildOutcome, Watch, WatchedCall

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HOME": "/"}
"""The zygote's whole environment; NLTK's import needs HOME."""


def main(channel: int) -> NoReturn:
    config = json.loads(_read_frame(channel))
    devnull = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    try:
        zygote = Zygote(channel, devnull, config)
        abi = _enter(config)
    except (OSError, ImportError, KeyError, ValueError) as error:
        _send_frame(channel, region.FAILED, [f"{type(error).__name__}: {error}".encode()])
        os._exit(1)
    os.dup2(devnull, 2)
    child.rehearse()
    gc.collect()
    gc.freeze()
    hello = region.HELLO.pack(os.getpid(), os.getuid(), abi, *sys.version_info[:3])
    _send_frame(channel, region.READY, [hello])
    zygote.serve()


def _enter(config: dict[str, Any]) -> int:
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
    def __init__(self, channel: int, devnull: int, config: dict[str, Any]) -> None:
        self._channel = channel
        self._devnull = devnull
        self._filter = bytes.fromhex(config["child_filter"])
        self._pid_hole = int(config["pid_hole"])
        self._rlimits: dict[str, int] = config["rlimits"]
        self._libraries: dict[str, list[str]] = config["libraries"]
        self._absent: list[str] = config["absent"]
        self._own_space = 0
        self._call: WatchedCall | None = None

    def serve(self) -> NoReturn:
        self._own_space = kernel.address_space()
        head = bytearray(region.CALL.size)
        while True:
            _read_into(self._channel, memoryview(head))
            op, rows, units, start, size, seconds_left, load, cpu = region.CALL.unpack(head)
            if op == region.OP_PRELOAD:
                self._preload(size)
                continue
            if op == region.OP_PROGRAM:
                self._call = None
                self._run(self._receive(rows, units, size, load, cpu, program=True), 0, seconds_left)
                continue
            if op in (region.OP_CALL, region.OP_TOOLS):
                self._call = self._receive(rows, units, size, load, cpu)
            if op == region.OP_TOOLS and self._call is not None:
                self._call.texts = region.TOOL_TEXTS
            if op == region.OP_FORGET or self._call is None:
                self._call = None
                continue
            self._run(self._call, start, seconds_left)

    def _receive(
        self, rows: int, units: int, size: int, load: float, cpu: float, *, program: bool = False
    ) -> WatchedCall:
        limits = bytearray(region.PROGRAM.size if program else 0)
        _read_into(self._channel, memoryview(limits))
        raw = bytearray(8 * units)
        _read_into(self._channel, memoryview(raw))
        # private: a child must not edit the request for its successor
        body = mmap(-1, max(size, 1), flags=MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE)
        with memoryview(body) as view:
            _read_into(self._channel, view[:size])
        budgets = struct.unpack(f"<{units}d", raw)
        if not program:
            return WatchedCall(body, size, rows, budgets, load, cpu)
        stdin, output, memory = region.PROGRAM.unpack(limits)
        stored = output + 1  # the byte that tells a flood from an output that just fits
        return WatchedCall(body, size - stdin, rows, budgets, load, cpu, stored, output, memory, stdin)

    def _preload(self, size: int) -> None:
        body = bytearray(size)
        _read_into(self._channel, memoryview(body))
        allowed = {module for modules in self._libraries.values() for module in modules}
        failed = b""
        for name in filter(allowed.__contains__, body.decode().split("\n")):
            try:
                importlib.import_module(name)
                warm_up(name)
            except Exception as error:  # noqa: BLE001 - a library that does not work is the host's to report
                failed = f"{name}: {type(error).__name__}: {error}"[:1000].encode("utf-8", "replace")
        gc.collect()
        gc.freeze()
        self._own_space = kernel.address_space()
        _send_frame(self._channel, region.PRELOADED, [failed])

    def _run(self, call: WatchedCall, start: int, seconds_left: float) -> None:
        shared = mmap(-1, region.region_size(call.rows, call.texts))
        region.HEADER.pack_into(shared, 0, region.LOADING, start, 0, 0, 0, time.monotonic(), 0.0, 0)
        log_read, log_write = os.pipe()
        progress_read, progress_write = os.pipe()
        os.set_blocking(log_read, False)
        rlimits = {
            **self._rlimits,
            "AS": (call.memory or self._rlimits["AS"]) + self._own_space,
            "CPU": min(self._rlimits["CPU"], max(1, round(call.cpu))),
        }
        # a reward has no input; a program gets a pipe, empty or not
        stdin_read, stdin_write = (self._devnull, -1) if call.memory is None else os.pipe()
        if stdin_write >= 0:
            os.set_blocking(stdin_write, False)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            task = child.Task(
                memoryview(call.body)[: call.size], shared, call.rows, start, call.budgets,
                self._filter, self._pid_hole, rlimits, parent, self._libraries, self._absent,
                call.texts,
            )  # fmt: skip
            child.run(task, log=log_write, progress=progress_write, stdin=stdin_read)
        os.close(log_write)
        os.close(progress_write)
        if stdin_read != self._devnull:
            os.close(stdin_read)
        watch = Watch(
            pid, shared, call, seconds_left, log=log_read, progress=progress_read, stdin=stdin_write
        )
        outcome = watch.until_dead()
        if parent == 1:
            _sweep()
        self._reply(call, start, outcome, shared, watch)
        watch.close()

    def _reply(
        self, call: WatchedCall, start: int, outcome: ChildOutcome, shared: mmap, watch: Watch
    ) -> None:
        header = region.Header._make(region.HEADER.unpack_from(shared, 0))
        used = min(header.used, call.rows * call.texts.row_bytes)
        done = region.DONE.pack(
            start, call.rows, outcome.status, outcome.cause, outcome.progress,
            outcome.cpu, outcome.wall, outcome.unit_wall, used, watch.log_bytes,
        )  # fmt: skip
        size = region.space_offset(call.rows) + used
        with memoryview(shared)[:size] as contents, memoryview(watch.log)[: watch.log_bytes] as log:
            _send_frame(self._channel, region.REPLY, [done, contents, log])


def _sweep() -> None:
    """Kill every process the child left, as process 1 of a namespace."""
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
    head = region.FRAME.pack(region.MAGIC, kind, sum(map(len, pieces)))
    waiting = [memoryview(piece) for piece in (head, *pieces) if len(piece)]
    while waiting:
        sent = os.writev(channel, waiting)
        while waiting and sent >= len(waiting[0]):
            sent -= len(waiting.pop(0))
        if sent:
            waiting[0] = waiting[0][sent:]


if ctypes.sizeof(ctypes.c_void_p) != 8:
    raise ImportError("the jail's structs assume 64-bit pointers")
