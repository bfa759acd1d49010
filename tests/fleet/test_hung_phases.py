"""A trainer that hangs, in each phase: it is ended in that phase's time, another attempt goes on from the resume state,
and after the fifth the job fails with a cause that names phase and prompts."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from backend.jobs.lifecycle.transitions import MAX_LOST_ATTEMPTS
from reinforge.records import Phase
from tests.fleet.running import Fleet, wait_for_all
from tests.fleet.stub_trainer import BEFORE_STEPS, HANGS_ON, STATE_EVERY, WITH_PROMPTS

PHASES = get_args(Phase.model_fields["phase"].annotation)
WORKERS = 4


@pytest.fixture
def fleet(database_url: str, tmp_path: Path) -> Iterator[Fleet]:
    """Whose phases may take a second; what has none of its own may take a minute, which the test has not."""
    bounds = ",".join(["60", *(f"{phase}=1" for phase in PHASES)])
    with Fleet(database_url, tmp_path, REINFORGE_STALL_SECONDS=bounds) as fleet, fleet.backend.rpc_worker():
        yield fleet


def where(phase: str) -> str:
    step = 0 if phase in BEFORE_STEPS else STATE_EVERY + 1
    prompts = (
        f"; 1 of 3 prompts were done; it waited for row {HANGS_ON} of the dataset"
        if phase in WITH_PROMPTS
        else ""
    )
    return f"It was {phase.replace('_', ' ')} at step {step}{prompts}."


@pytest.mark.long
def test_a_hung_trainer_is_tried_again_and_fails_with_phase_and_prompts(fleet: Fleet) -> None:
    backend = fleet.backend
    jobs = {phase: fleet.create("a", 1, 0.0, hang=phase, hangs="9") for phase in PHASES}
    once = fleet.create("a", 2, 0.0, hang="generating", hangs="1")
    fleet.start_workers(WORKERS)
    wait_for_all(backend, [*jobs.values(), once], within=100)

    for phase, job in jobs.items():
        view = backend.job(job)
        assert (view["status"], view["reason"], view["error"]["code"]) == (
            "failed",
            "stalled",
            "stalled",
        ), phase
        assert where(phase) in view["error"]["message"], view["error"]["message"]
        assert f"REINFORGE_STALL_SECONDS={phase}=" in view["error"]["hint"]
        assert "in enter" in view["error"]["traceback"], "what its threads were doing"
        rows = backend.sql("SELECT resume_step, reason FROM attempt WHERE job_id = %s ORDER BY number", job)
        start = 0 if phase in BEFORE_STEPS else STATE_EVERY
        # The first attempt made a resume state, so what was lost is counted from there on.
        assert rows == [(0, "stalled")] + [(start, "stalled")] * (MAX_LOST_ATTEMPTS - 1), phase

    recovered = backend.job(once)
    assert (recovered["status"], recovered["attempt"]) == ("succeeded", 2)
    log = "".join(line["message"] for line in backend.api.get(f"/jobs/{once}/logs").json()["data"])
    assert where("generating") in log
