"""Watches a child from the zygote: deadlines, progress, output, input."""

import os
import select
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from mmap import mmap

from . import region

STARVED_GRACE = 2.0
"""Factor by which a unit that gets too little CPU may exceed its time limit."""


@dataclass(slots=True)
class WatchedCall:
    body: mmap
    size: int
    rows: int
    budgets: Sequence[float]
    load: float
    cpu: float
    stored: int = region.LOG_BYTES
    flood: int = region.FLOOD_BYTES
    memory: int | None = None
    stdin: int = 0
    texts: region.Texts = region.REWARD_TEXTS


@dataclass(slots=True)
class ChildOutcome:
    status: int = 0
    cause: int = region.ENDED_ITSELF
    progress: int = region.NOT_STARTED
    cpu: float = 0.0
    wall: float = 0.0
    unit_wall: float = 0.0


class Watch:
    def __init__(
        self,
        pid: int,
        shared: mmap,
        call: WatchedCall,
        seconds_left: float,
        *,
        log: int,
        progress: int,
        stdin: int,
    ) -> None:
        self._pid, self._shared, self._call = pid, shared, call
        self._log_fd, self._progress_fd, self._stdin_fd = log, progress, stdin
        self._fed = 0
        self._began = time.monotonic()
        self._end = self._began + seconds_left
        self._pidfd = os.pidfd_open(pid)
        self._poll = select.poll()
        self._open = {self._pidfd, log, progress}
        for descriptor in self._open:
            self._poll.register(descriptor, select.POLLIN)
        self._unit = -1
        self._unit_began = self._unit_cpu = 0.0
        self.log = mmap(-1, call.stored + (1 << 16))
        self.log_bytes = 0
        self._log_total = 0
        self._outcome = ChildOutcome()
        self._feed()

    def until_dead(self) -> ChildOutcome:
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
        self._enter_unit(now, outcome.cpu)
        outcome.wall, outcome.unit_wall = now - self._began, now - self._unit_began
        self._take(self._open)
        return outcome

    def close(self) -> None:
        for descriptor in (self._pidfd, self._log_fd, self._progress_fd, self._stdin_fd):
            if descriptor >= 0:
                os.close(descriptor)

    def _judge(self) -> tuple[int, int]:
        now = time.monotonic()
        if now >= self._end:
            return region.CALL_DEADLINE, 0
        if self._log_total > self._call.flood:
            return region.OUTPUT_FLOOD, 0
        running = self._outcome.progress >= region.RUNNING
        if running:
            self._enter_unit(now, self._cpu())
            budget, began, cpu_began = self._call.budgets[self._unit], self._unit_began, self._unit_cpu
        else:
            budget, began, cpu_began = self._call.load, self._began, 0.0
        if now - began >= budget:
            starved = self._cpu() - cpu_began < 0.9 * budget and now - began < STARVED_GRACE * budget
            if not starved:
                return (region.UNIT_TIMEOUT if running else region.LOAD_TIMEOUT), 0
        # the child starts its next unit without waking this process: check a few times per budget
        due = min(self._end - now, max(began + budget - now, 0.01), budget / 8)
        return region.ENDED_ITSELF, max(1, int(due * 1000) + 1)

    def _enter_unit(self, now: float, cpu: float) -> None:
        """Accept the child's claim that its next unit began."""
        header = region.Header._make(region.HEADER.unpack_from(self._shared, 0))
        unit = min(header.unit, len(self._call.budgets) - 1)
        earliest = self._began if self._unit < 0 else self._unit_began
        if unit <= self._unit or (self._unit >= 0 and not header.started > earliest):
            return  # the second: a header that is half written, or a lie
        self._unit, self._unit_began = unit, _between(earliest, header.started, now)
        self._unit_cpu = _between(self._unit_cpu, header.cpu_started, cpu)

    def _cpu(self) -> float:
        return time.clock_gettime((~self._pid << 3) | 2)  # CPUCLOCK_SCHED of another process

    def _feed(self) -> None:
        if self._stdin_fd < 0:
            return
        with memoryview(self._call.body) as body:
            try:
                while self._fed < self._call.stdin:
                    start = self._call.size + self._fed
                    end = min(start + (1 << 16), self._call.size + self._call.stdin)
                    self._fed += os.write(self._stdin_fd, body[start:end])
            except BlockingIOError:
                if self._stdin_fd not in self._open:
                    self._open.add(self._stdin_fd)
                    self._poll.register(self._stdin_fd, select.POLLOUT)
                return
            except BrokenPipeError:
                pass
        if self._stdin_fd in self._open:
            self._ended(self._stdin_fd)
        os.close(self._stdin_fd)
        self._stdin_fd = -1

    def _take(self, ready: set[int]) -> None:
        ready = ready & self._open
        if self._stdin_fd in ready:
            self._feed()
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
        with memoryview(self.log) as log:
            while self._log_total <= self._call.flood:
                try:
                    count = os.readv(self._log_fd, [log[self.log_bytes :]])
                except BlockingIOError:
                    return False
                if count == 0:
                    return True
                self._log_total += count
                self.log_bytes = min(self.log_bytes + count, self._call.stored)
        return False


def _between(low: float, value: float, high: float) -> float:
    return min(max(value, low), high) if value == value else low
