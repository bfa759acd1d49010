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


def actions(backend: Backend, job: str) -> list[tuple[str, str, int | None]]:
    """Of a job, the newest first: action, finding, and the amount of its details."""
    entries = backend.api.get("/audit", params={"q": "diagnosis"}).json()["data"]
    details = [(entry["action"], entry["details"]) for entry in entries if entry["target"] == job]
    return [(action, detail["kind"], detail.get("amount")) for action, detail in details]


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


ROLLS_BACK = {"on_finding": {"reward_failing": "roll_back"}}


def saved(trainer: Trainer, *steps: int) -> None:
    for step in steps:
        train(trainer, step, **{"optimizer/learning_rate": 0.01})
        trainer.checkpoint(step)
        trainer.resume_state(step)


def points(backend: Backend, job: str) -> list[int]:
    """Steps that have a training reward."""
    series = backend.api.get(f"/jobs/{job}/metrics").json()["series"]
    return [step for one in series if one["key"] == "reward/mean" for step in one["steps"]]


def log_of(backend: Backend, job: str) -> list[str]:
    return [line["message"] for line in backend.api.get(f"/jobs/{job}/logs").json()["data"]]


def test_a_job_continues_from_the_step_saved_before_the_cause(backend: Backend) -> None:
    trainer = running(backend, optimizer={"learning_rate": 0.01}, diagnosis=ROLLS_BACK)
    job = id_of(trainer)
    saved(trainer, 1, 2, 3, 4)
    train(trainer, 5, **BROKEN)
    steps = {one["code"]: one["step"] for one in backend.api.get(f"/jobs/{job}/findings").json()["data"]}
    assert steps == {"reward_failing": 5, "rolled_back": 3}
    state = job_of(backend, trainer)
    assert (state["status"], state["reason"], state["error"]) == ("queued", "rolled_back", None)
    refused = trainer.post(
        trainer.number({"kind": "step_metrics", "step": 6, "values": {"reward/mean": 0.1}})
    )
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "lease_lost")
    assert actions(backend, job) == [("diagnosis.roll_back", "reward_failing", 3)]

    again = backend.claim(job)
    assert (again.attempt, again.claimed["resume_step"]) == (2, 3)
    [change] = again.claimed["changes"]
    assert (change["step"], change["change"]["setting"]) == (4, "optimizer.learning_rate")
    assert change["change"]["value"] <= 0.005
    assert points(backend, job) == [1, 2, 3]
    [record] = backend.api.get(f"/jobs/{job}/findings").json()["data"]
    assert (record["code"], record["severity"], record["step"]) == ("rolled_back", "info", 3)
    rate = change["change"]["value"]
    assert record["message"].startswith("Reward fails (since step 5): ")
    assert record["message"].endswith(f" The job continued after step 3 with the learning rate {rate:.3g}.")
    assert any(
        "rolls the job back to step 3 and lowers its learning rate" in line for line in log_of(backend, job)
    )


def test_the_same_finding_after_a_roll_back_pauses(backend: Backend) -> None:
    trainer = running(backend, optimizer={"learning_rate": 0.01}, diagnosis=ROLLS_BACK)
    saved(trainer, 1, 2)
    train(trainer, 3, **BROKEN)
    again = backend.claim(id_of(trainer))
    again.start(1, 20)
    train(again, 2, **BROKEN)
    job = job_of(backend, again)
    assert (job["status"], job["reason"]) == ("pausing", "diagnosis")
    assert [action for action, *_ in actions(backend, id_of(again))] == [
        "diagnosis.pause",
        "diagnosis.roll_back",
    ]


def test_changes_of_the_rate_that_were_rolled_back_are_not_applied_again(backend: Backend) -> None:
    trainer = running(backend, optimizer={"learning_rate": 0.001}, diagnosis=ROLLS_BACK)
    job = id_of(trainer)
    saved(trainer, 1)
    for setting, value in (("optimizer.learning_rate", 0.02), ("rollout.temperature", 0.7)):
        body = {"type": "setting", "setting": setting, "value": value}
        assert backend.api.post(f"/jobs/{job}/changes", json=body).status_code == 201
    for change in backend.api.get(f"/jobs/{job}/changes").json()["data"]:
        trainer.send({"kind": "change_applied", "change": change["id"], "step": 2})
    train(trainer, 2, **{"optimizer/learning_rate": 0.02})
    train(trainer, 3, **{"optimizer/learning_rate": 0.02})
    train(trainer, 4, **BROKEN, **{"optimizer/learning_rate": 0.02})
    scheduled = backend.claim(job).claimed["changes"]
    rates = [entry["change"]["value"] for entry in scheduled if "rate" in entry["change"]["setting"]]
    assert len(scheduled) == 2
    assert [entry["step"] for entry in scheduled] == [2, 2]
    assert len(rates) == 1
    assert rates[0] <= 0.01


def test_without_a_saved_step_the_job_begins_again(backend: Backend) -> None:
    trainer = running(backend, optimizer={"learning_rate": 0.01}, diagnosis=ROLLS_BACK)
    train(trainer, 1, **BROKEN)
    again = backend.claim(id_of(trainer))
    assert again.claimed["resume"] is None
    assert [change["step"] for change in again.claimed["changes"]] == [1]
    assert points(backend, id_of(trainer)) == []
