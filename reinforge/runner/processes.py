"""Processes in which a runner runs its program: one per concurrent rollout, or one for all."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from reinforge.runner.program import Outcome, Task

_DIED: Outcome = {"error": "The process that runs the program has ended."}


class RolloutProcess(Protocol):
    """Runs one rollout at a time."""

    def start(self, id: str, task: Task) -> None: ...

    def outcome(self, seconds: float, stop: threading.Event | None = None) -> Outcome | None:
        """Wait for the rollout's outcome; None after `seconds`, or soon after `stop` is set."""

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class OwnProcess:
    """Runs rollouts in forks of a child process, `reinforge.runner.slot`, which it restarts if it ends."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._child: _Child | None = None
        self._outcomes: queue.Queue[Outcome] = queue.Queue()

    def start(self, id: str, task: Task) -> None:
        if self._child is None or not self._child.alive:
            outcomes = self._outcomes = queue.Queue()
            self._child = _Child(
                "reinforge.runner.slot", self._target, outcomes.put, lambda: outcomes.put(_DIED)
            )
        self._child.write(task)

    def outcome(self, seconds: float, stop: threading.Event | None = None) -> Outcome | None:
        return _next(self._outcomes, seconds, stop)

    def cancel(self) -> None:
        self.close()

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()


class SharedProcess:
    """Runs a runner's rollouts in one child process, `reinforge.runner.shared`, restarted if it ends."""

    def __init__(self, target: str) -> None:
        self._target, self._lock = target, threading.Lock()
        self._child: _Child | None = None
        self._waiting: dict[str, queue.Queue[Outcome]] = {}

    def part(self) -> "SharedRollout":
        return SharedRollout(self)

    def start(self, id: str, task: Task, outcomes: queue.Queue[Outcome]) -> None:
        with self._lock:
            if self._child is None or not self._child.alive:
                self._fail_all()
                self._child = _Child("reinforge.runner.shared", self._target, self._read, self._ended)
            self._waiting[id] = outcomes
            self._child.write({"id": id, "task": task})

    def cancel(self, id: str) -> None:
        with self._lock:
            if self._waiting.pop(id, None) is not None and self._child is not None:
                self._child.write({"id": id, "cancel": True})

    def close(self) -> None:
        if self._child is not None:
            self._child.kill()

    def _read(self, message: dict[str, Any]) -> None:
        with self._lock:
            outcomes = self._waiting.pop(message["id"], None)
        if outcomes is not None:
            outcomes.put(message["outcome"])

    def _ended(self) -> None:
        with self._lock:
            if self._child is not None and not self._child.alive:
                self._fail_all()

    def _fail_all(self) -> None:
        for outcomes in self._waiting.values():
            outcomes.put(_DIED)
        self._waiting.clear()


class SharedRollout:
    def __init__(self, process: SharedProcess) -> None:
        self._process, self._id = process, ""
        self._outcomes: queue.Queue[Outcome] = queue.Queue()

    def start(self, id: str, task: Task) -> None:
        self._id, self._outcomes = id, queue.Queue()
        self._process.start(id, task, self._outcomes)

    def outcome(self, seconds: float, stop: threading.Event | None = None) -> Outcome | None:
        return _next(self._outcomes, seconds, stop)

    def cancel(self) -> None:
        self._process.cancel(self._id)

    def close(self) -> None:
        self.cancel()


class _Child:
    """A Python child process in its own session, which reads and writes JSON lines."""

    def __init__(
        self, module: str, target: str, read: Callable[[dict[str, Any]], None], ended: Callable[[], None]
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        threading.Thread(target=self._read, args=(read, ended), daemon=True).start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def write(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # its end is the outcome
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _read(self, read: Callable[[dict[str, Any]], None], ended: Callable[[], None]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            read(json.loads(line))
        self._process.wait()
        ended()


def _next(outcomes: queue.Queue[Outcome], seconds: float, stop: threading.Event | None) -> Outcome | None:
    until = time.monotonic() + seconds
    while (remaining := until - time.monotonic()) > 0 and not (stop is not None and stop.is_set()):
        with suppress(queue.Empty):
            return outcomes.get(timeout=min(remaining, 0.2))
    return None
