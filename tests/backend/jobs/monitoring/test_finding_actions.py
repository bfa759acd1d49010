"""Automatic actions of the diagnosis: only where the specification asks, once, and audited."""

from typing import Any

import pytest

from tests.backend.jobs.monitoring.test_training_checks import id_of, train
from tests.backend.server import Backend, Trainer

BROKEN = {"reward/error_share": 0.5}


def running(backend: Backend, **spec: Any) -> Trainer:
    with backend.rpc_worker():
        job = backend.create_job(limits={"steps": 20}, **spec)
    trainer = backend.claim(job)
    trainer.start(0, 20)
    return trainer


def job_of(backend: Backend, trainer: Trainer) -> dict[str, Any]:
    return backend.job(id_of(trainer))


def audited(backend: Backend) -> list[tuple[str, str, str]]:
    entries = backend.api.get("/audit", params={"q": "diagnosis"}).json()["data"]
    return [(entry["actor_name"], entry["action"], entry["details"]["kind"]) for entry in entries]


def test_nothing_happens_by_default(backend: Backend) -> None:
    trainer = running(backend)
    train(trainer, 1, 2, **BROKEN)
    assert job_of(backend, trainer)["status"] == "running"


@pytest.mark.parametrize(("action", "status"), [("stop", "cancelling"), ("pause", "pausing")])
def test_a_finding_ends_the_job_that_asks_for_it(backend: Backend, action: str, status: str) -> None:
    trainer = running(backend, diagnosis={"on_finding": {"reward_failing": action}})
    train(trainer, 1)
    assert job_of(backend, trainer)["status"] == "running"
    train(trainer, 2, **BROKEN)
    job = job_of(backend, trainer)
    assert (job["status"], job["reason"], job["error"]["code"]) == (status, "diagnosis", "diagnosis")
    assert job["error"]["message"].startswith("Reward fails: ")
    train(trainer, 3, **BROKEN)
    assert audited(backend).count(("Diagnosis", f"diagnosis.{action}", "reward_failing")) == 1
    trainer.end("cancelled" if action == "stop" else "paused")
    job = job_of(backend, trainer)
    assert (job["status"], job["reason"]) == ({"stop": "cancelled", "pause": "paused"}[action], "diagnosis")
    assert job["error"]["hint"].startswith("The messages are shown")


def test_a_finding_lowers_the_rate_once(backend: Backend) -> None:
    trainer = running(
        backend, optimizer={"learning_rate": 0.01}, diagnosis={"on_finding": {"reward_failing": "lower_rate"}}
    )
    for step in (1, 2, 3):
        train(trainer, step, **BROKEN, **{"optimizer/learning_rate": 0.01})
    [change] = backend.api.get(f"/jobs/{id_of(trainer)}/changes").json()["data"]
    assert (change["setting"], change["before"], change["created_by"]) == (
        "optimizer.learning_rate",
        0.01,
        "Diagnosis",
    )
    assert change["value"] <= 0.005
    assert job_of(backend, trainer)["status"] == "running"


def test_unknown_findings_and_actions_are_refused(backend: Backend) -> None:
    for on_finding in ({"bad_luck": "stop"}, {"reward_failing": "explode"}):
        answer = backend.api.post("/jobs", json=backend.spec(diagnosis={"on_finding": on_finding}))
        assert answer.status_code == 422
        assert "diagnosis.on_finding" in answer.json()["error"]["param"]
