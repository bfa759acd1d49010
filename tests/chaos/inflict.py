"""One fault in one job: arm it, watch the job to its end, and act like a user."""

import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.chaos.faults import Fault
from tests.chaos.points import kill_targets
from tests.chaos.running import FINAL, LEASE_SECONDS, Bench, wait_until

JOB_WITHIN = 240.0
"""Seconds, after which a job counts as stuck."""
OUTAGE_SECONDS = 30.0
FULL_SECONDS = 5.0
_POLL = 0.15
_MOST_RESUMES = 6
_UNDER_WAY_SECONDS = 1.0
"""What is heard of this long after a fault was made before it."""
_HELD = ("disk_full", "storage_full", "store_gone", "torn_state")
"""Faults for which the trainer is held at its point until the harm is done."""


@dataclass
class Watched:
    """What has been seen of a job while it ran."""

    job: str = ""
    status: str = ""
    reason: str | None = None
    fired_at: float | None = None
    at_step: int = 0
    phase: str | None = None
    recovered_s: float | None = None
    resumes: int = 0
    seconds: float = 0.0
    second_fired: bool | None = None
    pauses: list[str] = field(default_factory=list)


class Inflicted:
    """Run one job and hurt it once, or twice. `outage` cuts the object store off and mends it."""

    def __init__(
        self,
        bench: Bench,
        fault: Fault | None,
        outage: tuple[Callable[[], None], Callable[[], None]] | None = None,
        *,
        record: bool = False,
    ) -> None:
        """record: the points that are passed are written down, too."""
        self.bench, self.fault, self.outage, self._record = bench, fault, outage, record
        self.watched = Watched()
        self._begin = 0.0
        self._last: dict[str, Any] = {}

    def run(self) -> Watched:
        arm(self.bench, self.fault, record=self._record)
        self._begin = time.time()
        with contextlib.ExitStack() as stack:
            self.watched.job = self._create()
            while not self._is_over():
                self._hurt(stack)
                self.bench.revive()
                self._look()
                time.sleep(_POLL)
            self.watched.seconds = time.time() - self._begin
            self._hurt(stack)  # it may have struck since the last look
            disarm(self.bench)
        return self.watched

    def _create(self) -> str:
        if self.fault is None or self.fault.name != "no_messages":
            return self.bench.create()
        # The worker reads a message within a tenth of a second; it has to look away for that long.
        self.bench.strike(("worker",), signal.SIGSTOP)
        job = self.bench.create()
        for message in (self.bench.home / "broker" / "queue").iterdir():
            message.unlink()
        self.bench.strike(("worker",), signal.SIGCONT)
        self._fired(time.time())
        return job

    def _is_over(self) -> bool:
        if time.time() - self._begin > JOB_WITHIN:
            self.watched.status = "stuck"
        return self.watched.status in (*FINAL, "stuck")

    def _look(self) -> None:
        view = self.bench.look(self.watched.job)
        if view is None:
            return
        watched, self._last = self.watched, view
        watched.status, watched.reason = view["status"], view["reason"]
        if watched.fired_at is not None and watched.recovered_s is None:
            self._look_for_recovery(view["progress"]["step"], time.time() - watched.fired_at)
        if watched.status == "paused" and watched.resumes < _MOST_RESUMES:
            watched.resumes += 1
            watched.pauses.append(str(watched.reason))
            self.bench.request("POST", f"/jobs/{watched.job}/resume")

    def _look_for_recovery(self, step: int, since: float) -> None:
        """Back is a job with a step beyond those that were made before, or at its end."""
        watched = self.watched
        if since < _UNDER_WAY_SECONDS and watched.status not in FINAL:
            watched.at_step = max(watched.at_step, step)
        elif step > watched.at_step or watched.status in FINAL:
            watched.recovered_s = since

    def _hurt(self, stack: contextlib.ExitStack) -> None:
        fault = self.fault
        if fault is None:
            return
        if self.watched.fired_at is None:
            if fault.after_seconds is not None and time.time() - self._begin >= fault.after_seconds:
                self.bench.strike(fault.victims, signal.SIGKILL)
                self._fired(time.time())
            elif (at := fired(self.bench, 1)) is not None:
                self._fired(at)
                stack.enter_context(self._follow_up(fault))
        elif fault.second is not None and not self.watched.second_fired:
            at = fired(self.bench, 2)
            self.watched.second_fired = at is not None
            if at is not None:
                self._fired(at)

    def _fired(self, at: float) -> None:
        watched = self.watched
        watched.fired_at, watched.recovered_s = at, None
        progress = self._last.get("progress") or {"step": 0, "phase": None}
        watched.at_step, watched.phase = progress["step"], progress["phase"]

    def _follow_up(self, fault: Fault) -> contextlib.AbstractContextManager[None]:
        match fault.name:
            case "hang":
                return self._hang(fault)
            case "stop":
                return self._stop(fault)
            case "disk_full":
                return self._full("runs")
            case "storage_full":
                return self._full("objects")
            case "torn_state":
                return self._torn(fault.how)
            case "store_gone":
                return self._outage()
            case _:
                return contextlib.nullcontext()

    @contextlib.contextmanager
    def _hang(self, fault: Fault) -> Iterator[None]:
        time.sleep(LEASE_SECONDS * 0.6)
        self.bench.strike(fault.victims, signal.SIGCONT)
        yield

    @contextlib.contextmanager
    def _stop(self, fault: Fault) -> Iterator[None]:
        """Until another worker has made a step of the job's next attempt; then the first one wakes up."""

        def taken_over() -> bool:
            self._look()
            return self._last.get("attempt", 1) > 1 and (
                self.watched.status == "running" or self.watched.status in FINAL
            )

        with self.bench.another_worker():
            wait_until(taken_over, within=60)
            self.bench.strike(fault.victims, signal.SIGCONT)
            yield

    @contextlib.contextmanager
    def _full(self, name: str) -> Iterator[None]:
        ballast = self.bench.fill(name)
        self._release()
        time.sleep(FULL_SECONDS)
        ballast.unlink()
        yield

    def _release(self) -> None:
        """Let the held trainer go on. It says that it has come to its point before it stops: to wake it too early would
        be to leave it asleep."""
        wait_until(lambda: all(map(kill_targets.is_stopped, self.bench.trainers())), 15)
        self.bench.strike(("trainer",), signal.SIGCONT)

    @contextlib.contextmanager
    def _torn(self, how: str) -> Iterator[None]:
        query = "SELECT sha256 FROM resume_state WHERE job_id = %s ORDER BY step DESC LIMIT 1"
        wait_until(
            lambda: len(self.bench.sql("SELECT 1 FROM resume_state WHERE job_id = %s", self.watched.job)) > 1,
            20,
        )
        (row,) = self.bench.sql(query, self.watched.job)
        tear(self.bench.object_file(row[0]), how)
        self._look()
        self.bench.strike(("trainer",), signal.SIGKILL)
        self._fired(time.time())
        yield

    @contextlib.contextmanager
    def _outage(self) -> Iterator[None]:
        assert self.outage is not None
        cut, restore = self.outage
        cut()
        mending = threading.Timer(OUTAGE_SECONDS, restore)
        mending.start()
        self._release()
        try:
            yield
        finally:
            mending.join()


def tear(path: Path, how: str) -> None:
    """Cut a file in two, take it away, or change a byte in its middle."""
    content = path.read_bytes()
    if how == "gone":
        path.unlink()
        return
    middle = len(content) // 2
    changed = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    path.chmod(0o600)
    path.write_bytes(changed if how == "changed" else content[:middle])


def arm(bench: Bench, fault: Fault | None, *, record: bool = False) -> None:
    """Write the plan; from now on processes count what they pass."""
    disarm(bench)
    planned: list[dict[str, Any]] = []
    for number, armed in enumerate((fault, fault.second if fault else None), 1):
        if armed is not None and armed.point is not None:
            stopped = armed.name in ("hang", "stop", *_HELD)
            planned.append(
                {
                    "id": str(number),
                    "point": armed.point,
                    "victims": ["trainer"] if armed.name in _HELD else list(armed.victims),
                    "signal": int(signal.SIGSTOP if stopped else signal.SIGKILL),
                    "after": "1" if number == 2 else None,
                }
            )
    fresh = bench.plans / ".plan"
    fresh.write_text(json.dumps({"record": record, "faults": planned}))
    fresh.chmod(0o644)
    fresh.replace(bench.plans / "plan.json")


def disarm(bench: Bench) -> None:
    (bench.plans / "plan.json").unlink(missing_ok=True)
    for marker in bench.plans.glob("fired-*"):
        marker.unlink()


def fired(bench: Bench, number: int) -> float | None:
    """When a planned fault struck."""
    try:
        return float(json.loads((bench.plans / f"fired-{number}").read_text())["at"])
    except (FileNotFoundError, ValueError):
        return None
