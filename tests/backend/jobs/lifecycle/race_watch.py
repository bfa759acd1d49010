"""State of one job in the database, and its invariants."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Self

import psycopg
from sqlalchemy import event

from backend.data.database import Database
from backend.jobs.lifecycle.leases import expire_leases, stop_overdue
from backend.rpc.wake_ups import WakeUps
from reinforge.states import FINAL, LEASED, TRANSITIONS, JobStatus
from tests.backend.jobs.lifecycle.race_model import RECENT, Model, Request
from tests.backend.server import Backend

_QUERY = """
SELECT to_jsonb(job),
  ARRAY(SELECT to_jsonb(a) FROM attempt a WHERE a.job_id = job.id ORDER BY a.number),
  ARRAY(SELECT to_jsonb(c) FROM job_command c WHERE c.job_id = job.id ORDER BY c.created_at, c.kind),
  ARRAY(SELECT to_jsonb(c) FROM job_change c WHERE c.job_id = job.id ORDER BY c.created_at, c.id),
  ARRAY(SELECT jsonb_build_array(l.seq, l.message, l.attempt) FROM log_line l WHERE l.job_id = job.id ORDER BY l.seq),
  ARRAY(SELECT jsonb_build_array(p.step, p.value) FROM metric_point p JOIN metric_series s ON s.id = p.series_id
        WHERE s.job_id = job.id AND s.key = 'reward/mean' ORDER BY p.step),
  ARRAY(SELECT r.step FROM resume_state r WHERE r.job_id = job.id ORDER BY r.step),
  ARRAY(SELECT to_jsonb(e) FROM event e WHERE e.job_id = job.id ORDER BY e.seq)
FROM job WHERE job.id = %s
"""


@dataclass(frozen=True)
class Stored:
    """The rows of one job at one moment."""

    job: dict[str, Any]
    attempts: list[dict[str, Any]]
    commands: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    logs: list[tuple[int, str, int]]
    points: list[tuple[int, float]]
    resumes: list[int]
    events: list[dict[str, Any]]

    @classmethod
    def read(cls, connection: "psycopg.Connection[Any]", job: str) -> Self:
        row = connection.execute(_QUERY.encode(), (job,)).fetchone()
        assert row is not None
        return cls(*row)

    def model(self) -> Model:
        newest = self.attempts[-1] if self.attempts else None
        return Model(
            status=JobStatus(self.job["status"]),
            reason=self.job["reason"],
            attempt=self.job["attempt"],
            held=newest is not None and newest["ended_at"] is None and self.job["lease_until"] is not None,
            stored=newest["last_sequence"] if newest else 0,
            lost=self.job["lost_attempts"],
            step=self.job["step"],
            start=newest["resume_step"] if newest else 0,
            resumes=tuple(self.resumes),
            points=tuple((step, value) for step, value in self.points),
            logs=tuple(message for _, message, _ in self.logs),
            seconds=tuple(self.job["recent_step_seconds"])[-RECENT:],
            commands=tuple(
                Request(
                    command["kind"],
                    (command["applied_attempt"], command["applied_step"]) if command["applied_at"] else None,
                )
                for command in self.commands
            ),
            changes=tuple(
                Request("change", None if change["applied_step"] is None else (0, change["applied_step"]))
                for change in self.changes
            ),
        )

    def numbered(self) -> dict[int, tuple[str, int | None]]:
        """Number of each event → its type and step; a row may stand for several."""
        numbers: dict[int, tuple[str, int | None]] = {}
        for row in self.events:
            steps = row["data"]["step"] if row["count"] > 1 else [row["step"]]
            for place, step in enumerate(steps):
                seq = row["seq"] - row["count"] + 1 + place
                assert seq not in numbers, f"event {seq} is there twice"
                numbers[seq] = (row["type"], step)
        return numbers

    def check(self) -> None:
        """What is true of a job at any moment."""
        status = JobStatus(self.job["status"])
        open_attempts = [attempt["number"] for attempt in self.attempts if attempt["ended_at"] is None]
        leased = self.job["lease_until"] is not None
        assert leased == (status in LEASED), f"{status} with lease {self.job['lease_until']}"
        assert open_attempts == ([self.job["attempt"]] if leased else []), (status, open_attempts)
        assert [attempt["number"] for attempt in self.attempts] == list(range(1, self.job["attempt"] + 1))
        assert (self.job["finished_at"] is not None) == (status in FINAL)
        assert max(self.numbered(), default=0) <= self.job["seq"]
        states = [JobStatus(row["data"]["status"]) for row in self.events if row["type"] == "status"]
        assert states[-1] is status
        for old, new in zip([JobStatus.VALIDATING, *states], states, strict=False):
            assert new in TRANSITIONS[old], f"{old} became {new}"

    def check_since(self, before: "Stored") -> None:
        """What is true of whatever was done in between."""
        if before.job["status"] in FINAL:
            assert self == before, "a final job has changed"
        numbered_before, numbered_now = before.numbered(), self.numbered()
        fresh = range(before.job["seq"] + 1, self.job["seq"] + 1)
        assert [seq for seq in numbered_now if seq >= fresh.start] == list(fresh), (
            "a gap in the numbers of events"
        )
        # Only an attempt that goes on from an earlier step takes events away, those behind it.
        again = self.job["attempt"] > max(before.job["attempt"], 1)
        start = (self.attempts[-1]["resume_step"] or -1) if again else None
        unchanged = {
            seq: event
            for seq, event in numbered_before.items()
            if start is None or event[1] is None or event[1] <= start
        }
        assert {seq: event for seq, event in numbered_now.items() if seq < fresh.start} == unchanged
        for old, new in zip(before.attempts, self.attempts, strict=False):
            assert old["ended_at"] is None or old == new, "an attempt that was over has changed"
        for old, new in zip(before.commands, self.commands, strict=False):
            same = {key: value for key, value in old.items() if key != "created_at"}
            assert old["applied_at"] is None or same.items() <= new.items(), "a command was applied again"
        ended = {attempt["number"] for attempt in before.attempts if attempt["ended_at"] is not None}
        speaking = {attempt for seq, _, attempt in self.logs if seq >= fresh.start}
        assert not speaking & ended, "an attempt that was over has told something"


MEETING = 0.03
"""Seconds that a sweep stands still for what is asked meanwhile."""
MEET_WITHIN = 0.3


class Clockwork:
    """What the background's leader does about leases, on a thread of its own, as often as a test wants."""

    def __init__(self, backend: Backend) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._database = Database(backend.database_url, pool_size=2)
        event.listen(self._database.engine.sync_engine, "after_cursor_execute", self._pause)
        self._left = 0
        self._met = threading.Event()
        self._wake_ups = WakeUps(backend.settings)

    def meet(self, statements: int, request: Callable[[], int]) -> Callable[[], int]:
        """The request, to be sent when the next sweep has made so many statements and is not done yet."""
        self._left = statements
        self._met.clear()

        def wait_and_send() -> int:
            self._met.wait(MEET_WITHIN)
            return request()

        return wait_and_send

    def _pause(self, *_: object) -> None:
        self._left -= 1
        if self._left == 0:
            self._met.set()
            time.sleep(MEETING)

    def take_leases(self) -> list[str]:
        return self._do(lambda: expire_leases(self._database, self._wake_ups))

    def stop_overdue(self) -> list[str]:
        return self._do(lambda: stop_overdue(self._database))

    def close(self) -> None:
        self._wake_ups.close()
        self._do(self._database.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _do(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        return asyncio.run_coroutine_threadsafe(work(), self._loop).result(30)
