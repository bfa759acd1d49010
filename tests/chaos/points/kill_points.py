"""Kill points inside the platform's processes, which know nothing of them.

A *point* is a moment next to something that must not be half done: `(role, kind, label, when, count)`.

    rename    a file gets its name                    os.rename, os.replace, os.link     before · after
    pipe      the trainer writes a record             os.write to the record pipe        before · half · after
    outbox    the supervisor keeps or forgets one     worker.backend_api.outbox.Outbox               before · after
    ack       a worker's request to the backend       worker.backend_api.client.WorkerApi._send   before · after
    commit    a transaction that wrote something      SQLAlchemy                         before · after
    answer    the backend's answer to a worker        uvicorn                            before · after
    call      sandboxd answers a request              worker.sandbox.daemon.daemon              before · after

The suite writes `plan.json` into the folder that REINFORGE_CHAOS names. Processes look at it whenever they come to a
point: it tells them to record what they pass, or at which one to send a signal to whom. Each fault fires once, which
a file beside the plan says. Standard library only: it is imported before anything else.
"""

import contextlib
import importlib.abc
import importlib.util
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import kill_targets

Wrapper = Callable[..., Any]
_WRITES = re.compile(r"\s*(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+\"?(\w+)", re.IGNORECASE)
_CHANGING = {
    re.compile(r"ftjob-\w+"): "JOB",
    re.compile(r"call_\w+"): "CALL",
    re.compile(r"[0-9a-f]{12,}"): "#",
    re.compile(r"^[0-9a-f]{2}/"): "##/",  # a store's folder of objects
    re.compile(r"\d+"): "N",
}
_KIND = re.compile(rb'"kind":"(\w+)"')


class Points:
    """What this process has passed since the plan was written, and what it has to do there."""

    def __init__(self, folder: Path, role: str) -> None:
        self._folder, self._role = folder, role
        self._plan_file = folder / "plan.json"
        self._lock = threading.RLock()
        self._stamp: int | None = None
        self._plan: dict[str, Any] = {}
        self._counts: dict[tuple[str, str, str], int] = {}

    def reach(self, kind: str, label: str, when: str) -> bool:
        """Come to a point; whether a fault is due at it. `fire` is then to be called."""
        with self._lock:
            self._read_plan()
            if not self._plan:
                return False
            key = (kind, label, when)
            count = self._counts[key] = self._counts.get(key, 0) + 1
            point = {"role": self._role, "kind": kind, "label": label, "when": when, "count": count}
            if self._plan.get("record"):
                self._note(point)
            self._due = [fault for fault in self._plan["faults"] if fault.get("point") == point]
            return any(self._is_next(fault) for fault in self._due)

    def fire(self) -> None:
        for fault in self._due:
            if self._is_next(fault) and self._claim(fault):
                kill_targets.strike(self._folder, fault["victims"], signal.Signals(fault["signal"]))

    def pass_by(self, kind: str, label: str, when: str) -> None:
        if self.reach(kind, label, when):
            self.fire()

    def _read_plan(self) -> None:
        try:
            stamp = self._plan_file.stat().st_mtime_ns
        except FileNotFoundError:
            self._plan = {}
            return
        if stamp != self._stamp:
            with contextlib.suppress(FileNotFoundError):
                self._stamp, self._plan, self._counts = stamp, json.loads(self._plan_file.read_text()), {}

    def _note(self, point: dict[str, Any]) -> None:
        line = json.dumps(point).encode() + b"\n"
        descriptor = os.open(self._folder / "points.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            real_write(descriptor, line)
        finally:
            os.close(descriptor)

    def _is_next(self, fault: dict[str, Any]) -> bool:
        first = fault.get("after")
        return first is None or (self._folder / f"fired-{first}").exists()

    def _claim(self, fault: dict[str, Any]) -> bool:
        """Each fault strikes once, whoever comes to its point first."""
        try:
            with (self._folder / f"fired-{fault['id']}").open("x") as file:
                file.write(json.dumps({"at": time.time(), "pid": os.getpid(), "role": self._role}))
        except FileExistsError:
            return False
        return True


real_write = os.write


def plain(path: str) -> str:
    """A path or URL without what differs from run to run: its last two parts, ids and numbers replaced."""
    last = "/".join(str(path).split("?")[0].rstrip("/").split("/")[-2:])
    for changing, name in _CHANGING.items():
        last = changing.sub(name, last)
    return last


def around(points: Points, kind: str, label: Callable[..., str], function: Wrapper) -> Wrapper:
    """`function` between two points."""

    def wrapped(*arguments: Any, **options: Any) -> Any:
        name = label(*arguments, **options)
        points.pass_by(kind, name, "before")
        result = function(*arguments, **options)
        points.pass_by(kind, name, "after")
        return result

    return wrapped


def wrap_names(points: Points) -> None:
    def target(source: Any, target: Any, **_: Any) -> str:
        return plain(os.fspath(target))

    for name in ("rename", "replace", "link"):
        setattr(os, name, around(points, "rename", target, getattr(os, name)))


def wrap_pipe(points: Points, descriptor: int) -> None:
    def write(fd: int, data: Any) -> int:
        if fd != descriptor:
            return real_write(fd, data)
        match = _KIND.search(bytes(data[:300]))
        kind = match[1].decode() if match else "rest"
        points.pass_by("pipe", kind, "before")
        if points.reach("pipe", kind, "half"):
            half = real_write(fd, data[: len(data) // 2])
            points.fire()
            data = data[half:]  # others were hurt, and this process goes on
        else:
            half = 0
        written = half + real_write(fd, data)
        points.pass_by("pipe", kind, "after")
        return written

    os.write = write


def wrap_outbox(points: Points, module: ModuleType) -> None:
    outbox = module.Outbox
    outbox.put = around(points, "outbox", lambda _, record: f"put {record.kind}", outbox.put)
    outbox.acknowledge = around(points, "outbox", lambda *_: "acknowledge", outbox.acknowledge)


def wrap_worker_api(points: Points, module: ModuleType) -> None:
    def label(_: Any, method: str, url: str, **__: Any) -> str:
        return f"{method} {plain(url)}"

    module.WorkerApi._send = around(points, "ack", label, module.WorkerApi._send)


def wrap_database(points: Points, module: ModuleType) -> None:
    from sqlalchemy import event
    from sqlalchemy.engine import Engine
    from sqlalchemy.engine.default import DefaultDialect

    pending: dict[int, str] = {}

    @event.listens_for(Engine, "before_cursor_execute")
    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if match := _WRITES.match(statement):
            connection.info.setdefault("chaos", set()).add(match[1].lower())

    @event.listens_for(Engine, "rollback")
    def forget(connection: Any) -> None:
        connection.info.pop("chaos", None)

    @event.listens_for(Engine, "commit")
    def before(connection: Any) -> None:
        if tables := connection.info.pop("chaos", None):
            label = "+".join(sorted(tables))
            points.pass_by("commit", label, "before")
            pending[id(connection.connection)] = label

    commit = DefaultDialect.do_commit

    def do_commit(self: Any, proxied: Any) -> None:
        label = pending.pop(id(proxied), None)
        commit(self, proxied)
        if label is not None:
            points.pass_by("commit", label, "after")

    DefaultDialect.do_commit = do_commit  # type: ignore[method-assign]


def wrap_server(points: Points, module: ModuleType) -> None:
    cycle = module.RequestResponseCycle
    send = cycle.send

    async def answered(self: Any, message: Any) -> None:
        path = self.scope["path"]
        if not path.startswith("/worker/v1"):
            await send(self, message)
            return
        label = f"{self.scope['method']} {plain(path)}"
        if message["type"] == "http.response.start":
            points.pass_by("answer", label, "before")
        await send(self, message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            points.pass_by("answer", label, "after")

    cycle.send = answered


def wrap_sandbox(points: Points, module: ModuleType) -> None:
    answer = module.Sandboxd.answer

    async def answered(self: Any, request: dict[str, Any], *rest: Any) -> Any:
        label = str(request.get("op"))
        points.pass_by("call", label, "before")
        result = await answer(self, request, *rest)
        points.pass_by("call", label, "after")
        return result

    module.Sandboxd.answer = answered


LATER: dict[str, Callable[[Points, ModuleType], None]] = {
    "worker.backend_api.outbox": wrap_outbox,
    "worker.backend_api.client": wrap_worker_api,
    "backend.data.database": wrap_database,
    "uvicorn.protocols.http.httptools_impl": wrap_server,
    "uvicorn.protocols.http.h11_impl": wrap_server,
    "worker.sandbox.daemon.daemon": wrap_sandbox,
}
"""Module → what is done to it once it is loaded."""


class _Finder(importlib.abc.MetaPathFinder):
    """Lets others find a module of `LATER` and adds the wrapping to its loader."""

    def __init__(self, points: Points) -> None:
        self._points = points

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in LATER:
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is None or spec.loader is None:
            return None
        execute, wrap = spec.loader.exec_module, LATER[name]

        def exec_module(module: ModuleType) -> None:
            execute(module)
            wrap(self._points, module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def install() -> None:
    role = kill_targets.role_of(sys.orig_argv)
    if role is None:
        return
    points = Points(Path(os.environ["REINFORGE_CHAOS"]), role)
    wrap_names(points)
    if role == "trainer":
        wrap_pipe(points, int(os.environ["REINFORGE_RECORD_FD"]))
    sys.meta_path.insert(0, _Finder(points))
