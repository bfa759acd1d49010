"""Supervises child processes in threads: starts them, restarts ended ones, stops all in reverse order."""

import shutil
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from reinforge.errors import ReinforgeError, Unavailable
from reinforge.platform import keeper
from reinforge.platform.supervised_process import SupervisedProcess

_POLL = 0.1
_FIRST_DELAY = 0.5
_LONGEST_DELAY = 30.0
_STEADY_AFTER = 60.0
_ROTATED_LOGS = 5

EventKind = Literal["running", "restarting", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class SupervisorEvent:
    child: str
    kind: EventKind
    message: str


class SupervisedChild(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def running(self) -> bool: ...
    @property
    def status(self) -> int | None: ...
    def start(self) -> None:
        """Start the child, until it is ready. On failure, end its processes and raise ReinforgeError."""

    def ask_stop(self) -> None: ...

    def hurry(self) -> None: ...

    def stop(self) -> None: ...


@dataclass
class Service:
    name: str
    command: Sequence[str]
    home: Path
    env: Mapping[str, str]
    ready: Callable[[], bool] | None = None
    ready_within: float = 60.0
    grace: float = 10.0
    _process: SupervisedProcess | None = field(default=None, init=False)
    _stop_requested: threading.Event = field(default_factory=threading.Event, init=False)

    @property
    def log_file(self) -> Path:
        return self.home / "logs" / f"{self.name}.log"

    @property
    def pid_file(self) -> Path:
        return self.home / "run" / f"{self.name}.pid"

    @property
    def running(self) -> bool:
        process = self._process
        return process is not None and process.running

    @property
    def status(self) -> int | None:
        process = self._process
        return None if process is None else process.status

    def start(self) -> None:
        self._process = process = self._spawn()
        try:
            self._await_ready(process)
        except BaseException:
            self.ask_stop()
            self.stop()
            raise

    def run_to_end(self, timeout: float) -> None:
        process = self._spawn()
        try:
            finished = process.wait(timeout)
        finally:
            process.ask_stop()
            process.stop()
        if not finished or process.status != 0:
            raise self._failure(f"ended with status {process.status}" if finished else "did not end in time")

    def _spawn(self) -> SupervisedProcess:
        keeper.end_leftovers(self.pid_file)
        plan = keeper.KeeperPlan([*self.command], pid_file=str(self.pid_file), grace=self.grace)
        return SupervisedProcess(plan, self.log_file, self.env)

    def _failure(self, what: str) -> Unavailable:
        return Unavailable(
            f"{self.name} {what}:\n{last_lines(self.log_file)}",
            code=f"{self.name}_start_failed",
            hint=f"Read {self.log_file}.",
        )

    def _await_ready(self, process: SupervisedProcess) -> None:
        deadline = time.monotonic() + self.ready_within
        while self.ready is not None and not (process.running and self.ready()):
            if process.running and not self._stop_requested.is_set() and time.monotonic() < deadline:
                time.sleep(_POLL)
                continue
            ended = f"ended with status {process.status}"
            raise self._failure("did not become ready" if process.running else ended)

    def ask_stop(self) -> None:
        self._stop_requested.set()
        process = self._process
        if process is not None:
            process.ask_stop()

    def hurry(self) -> None:
        self._stop_requested.set()
        process = self._process
        if process is not None:
            process.hurry()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None
        self._stop_requested.clear()


class ProcessSupervisor:
    def __init__(self, report: Callable[[SupervisorEvent], None] = lambda event: None) -> None:
        self._report = report
        self._groups: list[list[_ChildThread]] = []
        self._stopping = threading.Event()

    def start(self, *group: SupervisedChild, optional: Collection[str] = ()) -> None:
        """Start children concurrently and wait for all. Raises the error of one not in `optional`."""
        watched = [
            _ChildThread(child, child.name in optional, self._stopping, self._report) for child in group
        ]
        self._groups.append(watched)
        for child_thread in watched:
            child_thread.thread.start()
        for child_thread in watched:
            child_thread.first_turn.wait()
        for child_thread in watched:
            if child_thread.failure is not None and child_thread.child.name not in optional:
                raise child_thread.failure

    def stop(self) -> None:
        self._stopping.set()
        while self._groups:
            group = self._groups[-1]
            for child_thread in group:
                child_thread.child.ask_stop()
            for child_thread in group:
                child_thread.thread.join()
                child_thread.child.stop()
                self._report(
                    SupervisorEvent(
                        child_thread.child.name, "stopped", f"{child_thread.child.name} has stopped"
                    )
                )
            self._groups.pop()

    def hurry(self) -> None:
        self._stopping.set()
        for child_thread in [child_thread for group in self._groups for child_thread in group]:
            child_thread.child.hurry()


class _ChildThread:
    def __init__(
        self,
        child: SupervisedChild,
        optional: bool,
        stopping: threading.Event,
        report: Callable[[SupervisorEvent], None],
    ) -> None:
        self.child = child
        self.failure: ReinforgeError | None = None
        self.first_turn = threading.Event()
        self._optional = optional
        self._stopping = stopping
        self._report = report
        self.thread = threading.Thread(target=self._watch, name=f"watch-{child.name}", daemon=True)

    def _watch(self) -> None:
        try:
            self.failure = self._start()
        finally:
            self.first_turn.set()
        if self.failure is not None:
            if not self._optional:
                return  # raised by `ProcessSupervisor.start`
            self._report(SupervisorEvent(self.child.name, "failed", self.failure.message))
        delay, since = _FIRST_DELAY, time.monotonic()
        while not self._stopping.wait(_POLL):
            if self.child.running:
                continue
            if time.monotonic() - since > _STEADY_AFTER:
                delay = _FIRST_DELAY
            status = self.child.status
            how = "is not running" if status is None else f"ended with status {status}"
            message = f"{self.child.name} {how}; it restarts in {delay:g} s"
            self._report(SupervisorEvent(self.child.name, "restarting", message))
            if self._stopping.wait(delay):
                return
            failure = self._start()
            if failure is not None:
                self._report(SupervisorEvent(self.child.name, "failed", failure.message))
            delay, since = min(2 * delay, _LONGEST_DELAY), time.monotonic()

    def _start(self) -> ReinforgeError | None:
        try:
            self.child.start()
        except ReinforgeError as error:
            return error
        except OSError as error:
            return Unavailable(f"{self.child.name} cannot be started: {error}", code="start_failed")
        self._report(SupervisorEvent(self.child.name, "running", f"{self.child.name} is running"))
        return None


def rotate(log: Path) -> None:
    if not log.exists() or log.stat().st_size == 0:
        return
    for number in range(_ROTATED_LOGS - 1, 0, -1):
        older = log.with_name(f"{log.name}.{number}")
        if older.exists():
            older.replace(log.with_name(f"{log.name}.{number + 1}"))
    shutil.move(log, log.with_name(f"{log.name}.1"))


def last_lines(log: Path, count: int = 20) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])
    except FileNotFoundError:
        return ""
