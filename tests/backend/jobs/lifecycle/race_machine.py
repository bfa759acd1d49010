"""State machine of a job under test: single actions and pairs of concurrent ones, compared with the model."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import httpx
import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from reinforge.schemas.worker_api import PROTOCOL, PROTOCOL_HEADER
from reinforge.states import FINAL, LEASED
from tests.backend.jobs.lifecycle.race_model import Action, Doing, Model, after
from tests.backend.jobs.lifecycle.race_watch import Clockwork, Stored
from tests.backend.server import Backend

COMMANDS: tuple[Doing, ...] = ("pause", "cancel", "resume", "checkpoint", "change", "claim")
SWEEPS: tuple[Doing, ...] = ("take leases", "stop overdue")
REPORTS = (
    "started", "step", "slow step", "three steps", "log", "phase", "finding", "resume state",
    "checkpoint done", "change applied", "heartbeat", "heard", "said again", "gap",
    "succeeded", "failed", "killed", "torn state", "paused", "storage lost", "cancelled", "more after the end",
)  # fmt: skip
ENDS: dict[str, tuple[str, str | None, str | None]] = {
    "succeeded": ("succeeded", None, None),
    "failed": ("failed", "reward_errors", "No reward."),
    "killed": ("failed", "killed", "It is gone."),
    "torn state": ("failed", "resume_state_invalid", "It is torn."),
    "paused": ("paused", None, None),
    "storage lost": ("paused", "storage_full", "The disk is full."),
    "cancelled": ("cancelled", "cancel_requested", None),
}
RUNNING = ("claim", "started")
BEGINNINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("claim",),
    RUNNING,
    (*RUNNING, "step", "resume state", "step"),
    (*RUNNING, "checkpoint", "change", "step"),
    (*RUNNING, "pause"),
    (*RUNNING, "step", "pause", "heard"),
    (*RUNNING, "cancel"),
    (*RUNNING, "pause", "paused", "resume", "claim"),
    (*RUNNING, "step", "resume state", "three steps", "killed", *RUNNING),
    (*RUNNING, "log", "killed", *RUNNING, "step", "killed", *RUNNING, "log"),
    ("pause",),
)
"""Every state that something can happen in, so that few examples reach them all."""
FINAL_LOOKS = 3
"""So often something is tried with a job that has ended, before another one begins."""
MOST_STATEMENTS = 4
"""Of a sweep about one job: what is asked meanwhile meets it behind each of them in turn."""
SOME_COMMAND = st.sampled_from((*COMMANDS, *COMMANDS, "claim", "resume", "pause"))
SOME_REPORT = st.sampled_from((*REPORTS, *(name for name in REPORTS if name not in ENDS)))
"""Ends come less often: nothing comes after most of them."""


@dataclass
class Attempt:
    """One attempt, as its worker speaks for it; all share the test's connections."""

    client: httpx.Client
    job: str
    number: int
    token: str
    sequence: int = 0

    def post(self, what: str, **body: Any) -> httpx.Response:
        return self.client.post(
            f"/worker/v1/jobs/{self.job}/{what}",
            json={"attempt": self.number, **body},
            headers={"authorization": f"Bearer {self.token}", PROTOCOL_HEADER: str(PROTOCOL)},
        )


class Jobs(RuleBasedStateMachine):
    """What is drawn may not depend on how a race ended: a rule that does not fit does nothing."""

    backend: ClassVar[Backend]
    clockwork: ClassVar[Clockwork]
    pool: ClassVar[ThreadPoolExecutor]

    @initialize(before=st.sampled_from(BEGINNINGS))
    def create(self, before: tuple[str, ...]) -> None:
        self.connection = psycopg.connect(self.backend.database_url, autocommit=True)
        self.counter = self.races = 0
        self.begin(before)

    def begin(self, before: tuple[str, ...]) -> None:
        self._skip()
        self.attempts: list[Attempt] = []
        self.job = self.backend.create_job(limits={"steps": 1000})
        uploaded = "INSERT INTO job_object (sha256, job_id) VALUES (%s, %s)"
        self.backend.sql(uploaded, self.state["sha256"], self.job)
        self.model = Model()
        self.final_looks = 0
        self.sent_actions: dict[int, Action] = {}
        """Attempt → its last batch that was stored."""
        self.stored = Stored.read(self.connection, self.job)
        for name in before:
            self.one(self.action(name))

    @rule(name=SOME_COMMAND)
    def command(self, name: Doing) -> None:
        self.one(Action(name))

    @rule(name=SOME_REPORT)
    def report(self, name: str) -> None:
        self.one(self.action(name))

    @rule(name=st.sampled_from((*REPORTS, *["said again"] * 9)), number=st.integers(0, 5))
    def a_dead_attempt_speaks(self, name: str, number: int) -> None:
        """Its worker was away while another one took its place."""
        if dead := self.attempts[:-1]:
            self.one(self.action(name, dead[number % len(dead)]))

    @rule(first=SOME_COMMAND, second=SOME_COMMAND)
    def two_commands_at_once(self, first: Doing, second: Doing) -> None:
        self.both(Action(first), Action(second))

    @rule(first=SOME_COMMAND, second=SOME_REPORT, swapped=st.booleans())
    def a_command_and_a_report_at_once(self, first: Doing, second: str, swapped: bool) -> None:
        actions = [Action(first), self.action(second)]
        self.both(*(reversed(actions) if swapped else actions))

    @rule(name=SOME_REPORT)
    def a_report_and_its_repetition_at_once(self, name: str) -> None:
        action = self.action(name)
        self.both(action, action)

    @rule(sweep=st.sampled_from(SWEEPS), other=st.sampled_from((*COMMANDS, *SWEEPS, *REPORTS)))
    def time_is_up_while_something_happens(self, sweep: Doing, other: str) -> None:
        """The worker has crashed, or does not stop, and just then something is asked or said."""
        if self.model.status not in LEASED:
            return
        self.let_time_pass(sweep)
        self.both(Action(sweep), self.action(other))
        self._renew()

    @rule()
    def the_lease_runs_out(self) -> None:
        if self.model.status in LEASED:
            self.let_time_pass("take leases")
        self.one(Action("take leases"))

    @rule()
    def the_sweep_finds_nothing(self) -> None:
        self.one(Action("take leases"))
        self.one(Action("stop overdue"))

    @rule(renewed=st.booleans())
    def stopping_takes_as_long_as_it_may_and_no_longer(self, renewed: bool) -> None:
        """Whether its worker is alive or not."""
        if self.model.status not in ("pausing", "cancelling") or self.model.overdue:
            return
        bound = self.model.stop_within
        self._requested_seconds_ago(bound - 5)
        if renewed:
            self.one(self.action("heartbeat"))
        self.one(Action("stop overdue"))
        self._requested_seconds_ago(bound + 1)
        self.model = replace(self.model, old=len(self.model.commands))
        self.one(Action("stop overdue"))
        assert self.model.status in ("paused", "cancelled")

    @invariant()
    def another_job_after_the_end(self) -> None:
        self.final_looks += self.model.status in FINAL
        if self.final_looks > FINAL_LOOKS:
            self.begin(BEGINNINGS[self.counter % len(BEGINNINGS)])

    def teardown(self) -> None:
        if hasattr(self, "connection"):
            self._skip()
            self.connection.close()

    def _skip(self) -> None:
        """What is left of the job before: a sweep is to find one job alone."""
        if hasattr(self, "job"):
            self._sql("UPDATE job SET status = 'cancelled', lease_until = NULL WHERE id = %s")

    # ── doing ─────────────────────────────────────────────────────────────────────────────────────────────

    def one(self, action: Action) -> None:
        expected, code = after(self.model, action)
        assert self._request(action)() == code, (action, self.model)
        self._look()
        assert self.stored.model() == expected, action
        self._now(expected, (action, code))

    def both(self, first: Action, second: Action) -> None:
        requests = [self._request(first), self._request(second)]
        if (first.doing in SWEEPS) != (second.doing in SWEEPS):
            other = 0 if second.doing in SWEEPS else 1
            self.races += 1
            requests[other] = self.clockwork.meet(1 + self.races % MOST_STATEMENTS, requests[other])
        codes = tuple(self.pool.map(lambda request: request(), requests))
        self._look()
        present = self.stored.model()
        possible = list(_outcomes(self.model, first, second))
        fitting = [model for model, expected in possible if expected == codes and model == present]
        assert fitting, (first, second, codes, present, possible)
        self._now(fitting[0], (first, codes[0]), (second, codes[1]))

    def _now(self, model: Model, *done: tuple[Action, int]) -> None:
        self.model = model
        stored = {
            action.attempt: action for action, code in done if action.doing == "records" and code == 200
        }
        self.sent_actions |= stored

    def _look(self) -> None:
        before, self.stored = self.stored, Stored.read(self.connection, self.job)
        self.stored.check()
        self.stored.check_since(before)

    def _request(self, action: Action) -> Callable[[], int]:
        """What to call, from any thread; the status of its answer."""
        api, worker_api, path = self.backend.api, self.backend.worker_api, f"/jobs/{self.job}"
        match action.doing:
            case "claim":
                body = {"worker": "wrk_test", "job": self.job}
                return lambda: self._claim(worker_api.post("/jobs/claim", json=body))
            case "change":
                change = {"type": "setting", "setting": "rollout.temperature", "value": 0.9}
                return lambda: api.post(f"{path}/changes", json=change).status_code
            case "take leases":
                return lambda: 0 * len(self.clockwork.take_leases())
            case "stop overdue":
                return lambda: 0 * len(self.clockwork.stop_overdue())
            case "heartbeat":
                ids = [self.stored.commands[place]["id"] for place in action.applied]
                return lambda: self._heartbeat(self.attempts[action.attempt - 1], ids)
            case "records":
                trainer = self.attempts[action.attempt - 1]
                records = [self._record(record, action, place) for place, record in enumerate(action.records)]
                return lambda: trainer.post("records", records=records).status_code
        return lambda: api.post(f"{path}/{action.doing}").status_code

    def _claim(self, answer: httpx.Response) -> int:
        if answer.status_code == 200:
            claimed = answer.json()
            assert claimed["resume_step"] == max(self.model.resumes, default=0)
            speaker = Attempt(self.backend.bare, self.job, claimed["attempt"], claimed["job_token"])
            self.attempts.append(speaker)
        return answer.status_code

    def _heartbeat(self, trainer: Attempt, ids: list[str]) -> int:
        """What it is told is what has not been done yet; told twice is no harm, forgotten would be."""
        answer = trainer.post("heartbeat", applied_commands=ids)
        if answer.status_code == 200:
            received = {command["id"] for command in answer.json()["commands"]}
            requested = [*self.stored.commands, *self.stored.changes]
            done = {item["id"] for item in requested if item["applied_step"] is not None}
            acknowledged = {
                command["id"] for command in self.stored.commands if command["kind"] != "checkpoint"
            } & set(ids)
            assert not received & (done | acknowledged), "told what is done"
            assert received >= {item["id"] for item in requested} - done - acknowledged, (
                "not told what is to be done"
            )
        return answer.status_code

    def let_time_pass(self, sweep: Doing) -> None:
        if sweep == "take leases":
            self._sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s")
            self.model = replace(self.model, expired=True)
        else:
            self._sql("UPDATE job_command SET created_at = created_at - interval '1 h' WHERE job_id = %s")
            self.model = replace(self.model, old=len(self.model.commands))

    def _renew(self) -> None:
        """A sweep passes over a job that another request holds: here the next one would find it."""
        self._sql(
            "UPDATE job SET lease_until = now() + interval '1 h' WHERE id = %s AND lease_until IS NOT NULL"
        )
        self.model = replace(self.model, expired=False)
        self.stored = Stored.read(self.connection, self.job)

    def _requested_seconds_ago(self, seconds: float) -> None:
        kind = {"pausing": "pause", "cancelling": "cancel"}[self.model.status]
        self._sql(
            "UPDATE job_command SET created_at = created_at + (now() - %s * interval '1 s' - (SELECT max(created_at)"
            " FROM job_command WHERE job_id = %s AND kind = %s)) WHERE job_id = %s",
            seconds,
            self.job,
            kind,
        )

    def _sql(self, statement: str, *values: Any) -> None:
        self.connection.execute(statement.encode(), (*values, self.job))

    # ── saying ────────────────────────────────────────────────────────────────────────────────────────────

    def action(self, name: str, trainer: Attempt | None = None) -> Action:
        """By name: a command, a sweep, or a report of this trainer, the newest if none is given."""
        if name in (*COMMANDS, *SWEEPS):
            return Action(name)  # type: ignore[arg-type]
        if trainer is None:
            if not self.attempts:
                return Action("claim")  # somebody has to be there first
            trainer = self.attempts[-1]
        number = trainer.number
        if name in ("heartbeat", "heard"):
            applied = tuple(range(len(self.model.commands))) if name == "heard" else ()
            return Action("heartbeat", number, applied=applied)
        if name == "said again" and number in self.sent_actions:
            return self.sent_actions[number]
        records = self._records(name)
        skipped = 1 if name == "gap" else 0
        action = Action("records", number, trainer.sequence + 1 + skipped, records)
        if not skipped:
            trainer.sequence = action.last
        return action

    def _records(self, name: str) -> tuple[tuple[Any, ...], ...]:
        self.counter += 1
        step, log = self.model.step + 1, ("log", f"line {self.counter}")
        match name:
            case "started":
                return (("started", self.model.step),)
            case "step" | "slow step":
                return (("step", step, float(self.counter), 300.0 if name == "slow step" else 2.0), log)
            case "three steps":
                return tuple(("step", step + more, self.counter + more / 4, 2.0) for more in range(3))
            case "phase" | "finding":
                return ((name, step),)
            case "resume state":
                return (("resume", max(self.model.step, 1)),)
            case "checkpoint done":
                places = [n for n, command in enumerate(self.model.commands) if command.kind == "checkpoint"]
                return tuple(("command", place) for place in places) or (log,)
            case "change applied":
                return tuple(("change", n, step) for n in range(len(self.model.changes))) or (log,)
            case "more after the end":
                return (log, ("end", *ENDS["paused"]), ("log", f"after the end {self.counter}"))
        if name not in ENDS:
            return (log,)
        final = (("checkpoint", step),) if name == "succeeded" else ()
        return (*final, ("end", *ENDS[name]))

    def _record(self, record: tuple[Any, ...], action: Action, place: int) -> dict[str, Any]:
        numbered = {"sequence": action.first + place, "ts": 1000.0 + place}
        return numbered | self._body(record)

    def _body(self, record: tuple[Any, ...]) -> dict[str, Any]:
        match record:
            case ("started", step):
                return {"kind": "started", "step": step, "steps": 1000}
            case ("step", step, value, seconds):
                values = {"reward/mean": value, "time/step": seconds}
                return {"kind": "step_metrics", "step": step, "values": values}
            case ("log", text):
                return {"kind": "log", "level": "info", "message": text}
            case ("phase", step):
                return {"kind": "phase", "phase": "generating", "step": step}
            case ("finding", step):
                fields = {"code": "odd", "severity": "warning", "message": "It is odd."}
                return {"kind": "finding", "step": step, **fields}
            case ("resume", step):
                return {"kind": "resume_state_saved", "step": step, "blob": self.state}
            case ("checkpoint", step):
                saved = {"kind": "checkpoint_saved", "step": step, "held_out_reward": None, "final": True}
                return saved | {"blob": self.state}
            case ("command", number):
                return {
                    "kind": "command_applied",
                    "command": self.stored.commands[number]["id"],
                    "step": self.model.step,
                }
            case ("change", number, step):
                return {"kind": "change_applied", "change": self.stored.changes[number]["id"], "step": step}
            case ("end", outcome, reason, message):
                return {"kind": "ended", "outcome": outcome, "reason": reason, "message": message}
        raise AssertionError(record)

    state: ClassVar[dict[str, Any]]
    """A blob that is there."""


def _outcomes(model: Model, first: Action, second: Action) -> Iterator[tuple[Model, tuple[int, int]]]:
    """One after the other, either way; and a claim or a sweep that passes over a job which the other one holds: the
    next wake-up and the next sweep find it."""
    one, code = after(model, first)
    two, other = after(one, second)
    yield two, (code, other)
    one, other = after(model, second)
    two, code = after(one, first)
    yield two, (code, other)
    if first.doing in ("claim", "take leases"):
        passed, other = after(model, second)
        yield passed, (204 if first.doing == "claim" else 0, other)
    if second.doing in ("claim", "take leases"):
        passed, code = after(model, first)
        yield passed, (code, 204 if second.doing == "claim" else 0)
