"""Commands, reports, claims, lost leases and the dead who speak, in any order and two at once, on the real database.

`race_model.after` says what becomes of a job. Two requests at once must end like one of them after the other, with
everything that is stored of the job as it would be then; `race_watch` has what holds at any moment.
"""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from reinforge.states import FINAL
from tests.backend.jobs.lifecycle.race_machine import COMMANDS, ENDS, REPORTS, RUNNING, SWEEPS, Jobs
from tests.backend.jobs.lifecycle.race_model import Action
from tests.backend.jobs.lifecycle.race_watch import Clockwork
from tests.backend.server import Backend


@pytest.fixture
def machine(rpc_backend: Backend) -> Iterator[type[Jobs]]:
    Jobs.backend, Jobs.clockwork = rpc_backend, Clockwork(rpc_backend)
    sha256 = rpc_backend.add_object(b"what a trainer has made", "resume")
    Jobs.state = {"sha256": sha256, "bytes": 23}
    with ThreadPoolExecutor(2) as Jobs.pool:
        yield Jobs
    Jobs.clockwork.close()


@pytest.mark.parametrize("now", [(), ("pause",), ("cancel",), ("succeeded",), ("killed",)], ids="-".join)
def test_attempts_that_are_over_change_nothing(machine: type[Jobs], now: tuple[str, ...]) -> None:
    jobs = machine()
    jobs.create(
        (*RUNNING, "log", "killed", *RUNNING, "step", "resume state", "killed", *RUNNING, "log", *now)
    )
    for name in ("said again", *REPORTS):
        for dead in jobs.attempts[:-1]:
            jobs.one(jobs.action(name, dead))
    jobs.teardown()


@pytest.mark.parametrize("end", [name for name in ENDS if name not in ("killed", "paused", "storage lost")])
def test_what_has_ended_stays_as_it_is(machine: type[Jobs], end: str) -> None:
    jobs = machine()
    jobs.create((*RUNNING, "step", "checkpoint", "change", end))
    assert jobs.model.status in FINAL
    for name in (*COMMANDS, *SWEEPS, *REPORTS):
        jobs.one(jobs.action(name))
    jobs.teardown()


STATES: dict[str, tuple[str, ...]] = {
    "queued": (),
    "starting": ("claim",),
    "running": (*RUNNING, "step", "resume state", "checkpoint", "change"),
    "pausing": (*RUNNING, "step", "pause"),
    "cancelling": (*RUNNING, "step", "cancel"),
    "paused": ("claim", "pause"),
}


@pytest.mark.parametrize("state", STATES)
def test_whatever_is_done_in_a_state_ends_as_documented(machine: type[Jobs], state: str) -> None:
    jobs = machine()
    jobs.create(STATES[state])
    assert jobs.model.status == state
    going_on = [name for name in REPORTS if name not in ENDS]
    reports = (
        [*going_on, *REPORTS] if jobs.attempts else []
    )  # what does not end it twice: nothing is applied again
    for name in [*COMMANDS, *SWEEPS, *reports]:
        before = jobs.model
        jobs.one(jobs.action(name))
        if (jobs.model.status, jobs.model.attempt, jobs.model.held) != (state, before.attempt, before.held):
            jobs.begin(STATES[state])
    jobs.teardown()


LONG_STATES = [pytest.param(state, marks=pytest.mark.long) for state in ("running", "pausing", "cancelling")]


@pytest.mark.parametrize("state", LONG_STATES)
def test_a_sweep_and_what_is_done_meanwhile_end_as_documented(machine: type[Jobs], state: str) -> None:
    jobs = machine()
    jobs.create(STATES[state])
    others = ("cancel", "pause", "checkpoint", "step", "heartbeat", *ENDS)
    for sweep in SWEEPS:
        for name in others:
            jobs.begin(STATES[state])
            jobs.let_time_pass(sweep)
            jobs.both(Action(sweep), jobs.action(name))
    jobs.teardown()


@pytest.mark.timeout(120)
def test_any_order_ends_as_documented(machine: type[Jobs]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=12,
            stateful_step_count=20,
            deadline=None,
            database=None,
            derandomize="CI" in os.environ,
            phases=[Phase.generate],  # a race does not come again the same way, so there is nothing to shrink
            suppress_health_check=list(HealthCheck),
        ),
    )
