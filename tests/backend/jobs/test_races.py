"""Commands, ends, claims and lost leases in any order, and two at once, against the real database.

`after` says what becomes of a job in each state. Two requests at once must end like one of them after the other.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import httpx
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from backend.database import Database
from backend.jobs.leases import stop_overdue
from backend.jobs.lifecycle import MAX_LOST_ATTEMPTS
from reinforge.states import FINAL, TRANSITIONS, JobStatus
from tests.backend.server import Backend, Trainer

S = JobStatus
Action = Literal[
    "pause", "cancel", "resume", "checkpoint", "change", "claim",
    "started", "succeeded", "failed", "trainer paused", "trainer cancelled", "heartbeat",
]  # fmt: skip
COMMANDS: tuple[Action, ...] = ("pause", "cancel", "resume", "checkpoint", "change", "claim")
REPORTS: tuple[Action, ...] = (
    "started", "succeeded", "failed", "trainer paused", "trainer cancelled", "heartbeat",
)  # fmt: skip
BEGINNINGS: tuple[tuple[Action, ...], ...] = (
    (),
    ("claim",),
    ("claim", "started"),
    ("claim", "started", "pause"),
    ("claim", "started", "cancel"),
    ("claim", "started", "pause", "trainer paused", "resume", "claim"),
)
"""Every state that something can happen in, so that few examples reach them all."""
OUTCOMES = {
    "succeeded": "succeeded",
    "failed": "failed",
    "trainer paused": "paused",
    "trainer cancelled": "cancelled",
}


@dataclass(frozen=True)
class Model:
    """What is known of a job from what was done to it."""

    status: JobStatus = S.QUEUED
    attempt: int = 0
    held: bool = False
    """The newest attempt may speak for the job."""
    lost: int = 0


def after(model: Model, action: Action) -> tuple[Model, int]:
    """The documented outcome, and the status of the answer."""
    if action in COMMANDS:
        return _after_command(model, action)
    if not model.held:
        return model, 409
    if action == "heartbeat":
        return model, 200
    if action == "started":
        return replace(model, status=S.RUNNING if model.status is S.STARTING else model.status), 200
    end = S.CANCELLED if model.status is S.CANCELLING else JobStatus(OUTCOMES[action])
    return replace(model, status=end, held=False), 200


def _after_command(model: Model, action: Action) -> tuple[Model, int]:
    status = model.status
    match action:
        case "pause" if status in (S.QUEUED, S.STARTING):
            return replace(model, status=S.PAUSED, held=False), 200
        case "pause" if status is S.RUNNING:
            return replace(model, status=S.PAUSING), 200
        case "pause":
            return model, 200 if status in (S.PAUSING, S.PAUSED) else 409
        case "cancel" if status in (S.QUEUED, S.PAUSED):
            return replace(model, status=S.CANCELLED), 200
        case "cancel" if status in (S.STARTING, S.RUNNING, S.PAUSING):
            return replace(model, status=S.CANCELLING), 200
        case "resume" if status is S.PAUSED:
            return replace(model, status=S.QUEUED, lost=0), 200
        case "checkpoint" if status is S.RUNNING:
            return model, 202
        case "change" if status not in FINAL:
            return model, 201
        case "claim":
            if status is not S.QUEUED:
                return model, 204
            return replace(model, status=S.STARTING, attempt=model.attempt + 1, held=True), 200
    return model, 409


def after_lost_lease(model: Model) -> Model:
    if not model.held:
        return model
    lost = replace(model, held=False, lost=model.lost + 1)
    if model.status is S.CANCELLING:
        return replace(lost, status=S.CANCELLED)
    if model.status is S.PAUSING:
        return replace(lost, status=S.PAUSED)
    return replace(lost, status=S.FAILED if lost.lost >= MAX_LOST_ATTEMPTS else S.QUEUED)


def after_overdue(model: Model) -> Model:
    ends = {S.PAUSING: S.PAUSED, S.CANCELLING: S.CANCELLED}
    return replace(model, status=ends[model.status], held=False) if model.status in ends else model


class Jobs(RuleBasedStateMachine):
    backend: ClassVar[Backend]

    @initialize(before=st.sampled_from(BEGINNINGS))
    def create(self, before: tuple[Action, ...]) -> None:
        self.job = self.backend.create_job()
        self.model = Model()
        self.trainers: list[Trainer] = []
        for action in before:
            self.one(action)

    @rule(action=st.sampled_from(COMMANDS + REPORTS))
    def one(self, action: Action) -> None:
        if action in REPORTS and not self.trainers:
            return
        self.model, expected = after(self.model, action)
        code = self._request(action)()
        assert code == expected, (action, code, expected)
        self._same()

    @rule(first=st.sampled_from(COMMANDS), second=st.sampled_from(COMMANDS + REPORTS))
    def two_at_once(self, first: Action, second: Action) -> None:
        if second in REPORTS and not self.trainers:
            return
        requests = [self._request(first), self._request(second)]
        with ThreadPoolExecutor(2) as pool:
            codes = tuple(pool.map(lambda request: request(), requests))
        possible = set()
        for order in ((0, 1), (1, 0)):
            model, found = self.model, [0, 0]
            for number in order:
                action = (first, second)[number]
                # A report is the attempt's that was the newest before: another one has taken its place since.
                stale = action in REPORTS and model.attempt != self.model.attempt
                model, found[number] = (model, 409) if stale else after(model, action)
            possible.add((model, tuple(found)))
        if "claim" in (first, second):
            # A claim passes over a job that another request holds: the next wake-up finds it.
            other = second if first == "claim" else first
            model, code = after(self.model, other)
            possible.add((model, (204, code) if first == "claim" else (code, 204)))
        status, attempt, held = self._stored()
        fitting = [
            model
            for model, found in possible
            if found == codes and (model.status, model.attempt, model.held) == (status, attempt, held)
        ]
        assert fitting, (first, second, codes, status, attempt, held, possible)
        self.model = fitting[0]

    @rule()
    def lease_runs_out(self) -> None:
        self.backend.sql(
            "UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s AND lease_until IS NOT NULL",
            self.job,
        )
        self.backend.sweep()
        self.model = after_lost_lease(self.model)
        self._same()

    @rule()
    def stopping_takes_too_long(self) -> None:
        self.backend.sql(
            "UPDATE job_command SET created_at = created_at - interval '1 h' WHERE job_id = %s", self.job
        )

        async def once() -> None:
            database = Database(self.backend.database_url, pool_size=1)
            try:
                await stop_overdue(database)
            finally:
                await database.close()

        asyncio.run(once())
        self.model = after_overdue(self.model)
        self._same()

    def teardown(self) -> None:
        if not hasattr(self, "job"):
            return
        events = self.backend.api.get(f"/jobs/{self.job}/events", params={"limit": 1000}).json()["data"]
        states = [S(event["data"]["status"]) for event in events if event["type"] == "status"]
        for old, new in zip([S.VALIDATING, *states], states, strict=False):
            assert new in TRANSITIONS[old], (old, new)
        assert states[-1] is self.model.status
        numbers = [event["seq"] for event in events]
        assert numbers == sorted(set(numbers))

    def _request(self, action: Action) -> Callable[[], int]:
        """What to call, from any thread; the status of its answer."""
        api, door, path = self.backend.api, self.backend.door, f"/jobs/{self.job}"
        if action == "claim":
            return lambda: self._claim(door.post("/jobs/claim", json={"worker": "wrk_test", "job": self.job}))
        if action == "change":
            body = {"type": "setting", "setting": "rollout.temperature", "value": 0.9}
            return lambda: api.post(f"{path}/changes", json=body).status_code
        if action in COMMANDS:
            return lambda: api.post(f"{path}/{action}").status_code
        trainer = self.trainers[-1]
        if action == "heartbeat":
            return lambda: trainer.heartbeat().status_code
        if action == "started":
            records = trainer.number({"kind": "started", "step": 0, "steps": 3})
        else:
            blob = trainer.blob(b"an adapter")
            records = trainer.number(
                {"kind": "checkpoint_saved", "step": 3, "blob": blob, "held_out_reward": None, "final": True},
                {"kind": "ended", "outcome": OUTCOMES[action], "reason": None, "step": 3},
            )
        return lambda: trainer.post(records).status_code

    def _claim(self, answer: httpx.Response) -> int:
        if answer.status_code == 200:
            self.trainers.append(Trainer(self.backend, answer.json()))
        return answer.status_code

    def _stored(self) -> tuple[JobStatus, int, bool]:
        query = (
            "SELECT job.status, job.attempt, job.lease_until IS NOT NULL AND attempt.ended_at IS NULL FROM job"
            " LEFT JOIN attempt ON attempt.job_id = job.id AND attempt.number = job.attempt WHERE job.id = %s"
        )
        ((status, attempt, held),) = self.backend.sql(query, self.job)
        return S(status), attempt, bool(held)

    def _same(self) -> None:
        assert self._stored() == (self.model.status, self.model.attempt, self.model.held)


def test_any_order_ends_as_documented(open_lane: Backend) -> None:
    Jobs.backend = open_lane
    run_state_machine_as_test(
        Jobs,
        settings=settings(
            max_examples=12,
            stateful_step_count=8,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
