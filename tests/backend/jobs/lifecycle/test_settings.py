"""Numbers changed while a job runs: checked like a new job's, delivered until applied, repeated at their step."""

from typing import Any

import pytest

from tests.backend.server import Backend, Trainer, refused

pytestmark = pytest.mark.usefixtures("rpc_backend")


def change(backend: Backend, job: str, setting: str, value: Any) -> dict[str, Any]:
    body = {"type": "setting", "setting": setting, "value": value}
    response = backend.api.post(f"/jobs/{job}/changes", json=body)
    assert response.status_code == 201, response.text
    change: dict[str, Any] = response.json()
    return change


def settings(backend: Backend, job: str) -> dict[str, float]:
    listed = backend.api.get(f"/jobs/{job}/settings").json()["data"]
    return {setting["setting"]: setting["value"] for setting in listed}


def changes(trainer: Trainer) -> list[dict[str, Any]]:
    return [command for command in trainer.heartbeat().json()["commands"] if command["kind"] == "change"]


def test_a_setting_goes_to_the_trainer_until_it_is_applied_and_to_the_next_attempt(backend: Backend) -> None:
    job = backend.create_job(optimizer={"learning_rate": 1e-4}, limits={"steps": 9})
    trainer = backend.claim(job)
    trainer.start(0, 9)
    made = change(backend, job, "optimizer.learning_rate", 5e-5)
    assert (made["type"], made["title"], made["value"], made["before"], made["step"], made["reward"]) == (
        "setting",
        "learning rate",
        5e-5,
        1e-4,
        None,
        None,
    )
    (command,) = changes(trainer)
    expected = {"type": "setting", "setting": "optimizer.learning_rate", "value": 5e-5, "before": 1e-4}
    assert (command["id"], command["change"]) == (made["id"], expected)
    trainer.send({"kind": "change_applied", "change": made["id"], "step": 2})
    assert changes(trainer) == []
    trainer.end("paused", reason="pause_requested", step=2)
    backend.api.post(f"/jobs/{job}/resume")
    (received,) = backend.claim(job).claimed["changes"]
    assert (received["id"], received["step"], received["change"]) == (made["id"], 2, expected)


def test_one_change_stands_on_the_other(backend: Backend) -> None:
    job = backend.create_job(rollout={"max_completion_tokens": 16, "temperature": 1.0})
    assert settings(backend, job)["rollout.temperature"] == 1.0
    assert change(backend, job, "rollout.temperature", 0.8)["before"] == 1.0
    assert change(backend, job, "rollout.temperature", 0.6)["before"] == 0.8
    assert settings(backend, job)["rollout.temperature"] == 0.6
    assert backend.job(job)["resolved_spec"]["rollout"]["temperature"] == 1.0


def test_a_job_can_change_what_its_slots_have(backend: Backend) -> None:
    clipped = backend.create_job(algorithm={"preset": "dapo"})
    assert set(settings(backend, clipped)) >= {
        "optimizer.learning_rate",
        "rollout.temperature",
        "algorithm.loss.kl.beta",
        "algorithm.loss.surrogate.eps_low",
        "algorithm.loss.surrogate.eps_high",
    }
    capped = backend.create_job(algorithm={"preset": "cispo"})
    assert "algorithm.loss.surrogate.ratio_cap" in settings(backend, capped)
    assert "algorithm.loss.surrogate.eps_low" not in settings(backend, capped)


@pytest.mark.parametrize(
    ("algorithm", "setting", "value", "param", "code"),
    [
        ({}, "optimizer.learning_rate", 2, "value", "invalid_value"),
        ({}, "rollout.temperature", 0, "value", "invalid_value"),
        ({}, "limits.steps", 5, "setting", "unknown_setting"),
        ({}, "algorithm.loss.surrogate.ratio_cap", 5, "setting", "unknown_setting"),
        (
            {"loss": {"surrogate": {"type": "ppo_clip", "delta": 2}}},
            "algorithm.loss.surrogate.eps_high",
            1.5,
            "value",
            "invalid_value",
        ),
        (
            {"loss": {"kl": {"beta": 0.1, "adaptive": {}}}},
            "algorithm.loss.kl.beta",
            0.2,
            "setting",
            "setting_follows",
        ),
    ],
    ids=["too-large", "zero", "not-live", "not-of-its-slots", "disagrees", "adaptive"],
)
def test_what_a_new_job_could_not_have_is_refused(
    backend: Backend, algorithm: dict[str, Any], setting: str, value: float, param: str, code: str
) -> None:
    job = backend.create_job(algorithm=algorithm)
    body = {"type": "setting", "setting": setting, "value": value}
    refused(backend.api.post(f"/jobs/{job}/changes", json=body), param, code)
    assert backend.api.get(f"/jobs/{job}/changes").json()["data"] == []


def test_an_ended_job_is_not_changed(backend: Backend) -> None:
    job = backend.create_job()
    backend.api.post(f"/jobs/{job}/cancel")
    body = {"type": "setting", "setting": "rollout.temperature", "value": 0.5}
    answer = backend.api.post(f"/jobs/{job}/changes", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "job_ended")


def test_another_project_and_a_viewer_change_nothing(backend: Backend) -> None:
    job = backend.create_job()
    body = {"type": "setting", "setting": "rollout.temperature", "value": 0.5}
    assert backend.add_key("viewer").post(f"/jobs/{job}/changes", json=body).status_code == 403
    assert backend.add_key("viewer").post(f"/jobs/{job}/checkpoint").status_code == 403
    assert backend.api.post("/jobs/ftjob-none/changes", json=body).status_code == 404


# ── A checkpoint now ────────────────────────────────────────────────────────────────────────────────────────


def test_a_checkpoint_is_requested_until_it_is_made(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    first = backend.api.post(f"/jobs/{job}/checkpoint")
    assert (first.status_code, first.json()["kind"], first.json()["step"]) == (202, "checkpoint", None)
    id = first.json()["id"]
    assert backend.api.post(f"/jobs/{job}/checkpoint").json()["id"] == id
    (command,) = trainer.heartbeat().json()["commands"]
    assert (command["id"], command["kind"]) == (id, "checkpoint")
    # It has been heard; should this attempt be lost, the next one still makes it.
    trainer.heartbeat(id)
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
    backend.sweep()
    second = backend.claim(job)
    second.start()
    assert [command["id"] for command in second.heartbeat().json()["commands"]] == [id]
    second.step(1)
    second.checkpoint(1)
    second.send({"kind": "command_applied", "command": id, "step": 1})
    assert second.heartbeat().json()["commands"] == []
    assert backend.sql("SELECT applied_step, applied_attempt FROM job_command WHERE id = %s", id) == [(1, 2)]
    assert backend.api.post(f"/jobs/{job}/checkpoint").json()["id"] != id


def test_only_a_running_job_makes_a_checkpoint(backend: Backend) -> None:
    job = backend.create_job()
    answer = backend.api.post(f"/jobs/{job}/checkpoint")
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "job_not_running")
