"""Changes of a running job: gated, delivered until applied, applied at the same step by every attempt."""

from typing import Any

import pytest

from tests.backend.server import REWARD, Backend, refused

pytestmark = pytest.mark.usefixtures("rpc_backend")


@pytest.fixture
def reward(backend: Backend) -> str:
    return str(backend.api.post("/rewards", json={"name": "r", "source": REWARD}).json()["id"])


def revise(backend: Backend, reward: str) -> None:
    body = {"source": REWARD + "# another\n"}
    assert (
        backend.api.post(f"/rewards/{reward}/revisions", headers={"if-match": "*"}, json=body).status_code
        == 201
    )


def job_with(backend: Backend, reward: str) -> str:
    return backend.create_job(rewards=[{"name": "right", "reward": reward}])


def commands(backend: Backend, trainer: Any) -> list[dict[str, Any]]:
    return [command for command in trainer.heartbeat().json()["commands"] if command["kind"] == "change"]


def test_a_change_goes_to_the_trainer_until_it_is_applied(backend: Backend, reward: str) -> None:
    job = job_with(backend, reward)
    trainer = backend.claim(job)
    trainer.start(steps=9)
    trainer.step(1)
    assert commands(backend, trainer) == []
    revise(backend, reward)
    change = backend.api.post(f"/jobs/{job}/changes", json={}).json()
    assert (change["reward"], change["revision"], change["step"]) == ("right", f"{reward}@2", None)
    for _ in range(2):
        (command,) = commands(backend, trainer)
        assert (command["id"], command["change"]["source"]) == (change["id"], REWARD + "# another\n")
    trainer.send({"kind": "change_applied", "change": change["id"], "step": 2})
    assert commands(backend, trainer) == []
    (listed,) = backend.api.get(f"/jobs/{job}/changes").json()["data"]
    assert (listed["step"], listed["applied_at"] is not None) == (2, True)


def test_the_next_attempt_receives_the_step_of_a_change(backend: Backend, reward: str) -> None:
    job = job_with(backend, reward)
    first = backend.claim(job)
    first.start(steps=9)
    first.step(1)
    revise(backend, reward)
    change = backend.api.post(f"/jobs/{job}/changes", json={}).json()
    first.send({"kind": "change_applied", "change": change["id"], "step": 2})
    first.step(2)
    first.end("paused", reason="pause_requested", step=2)
    backend.api.post(f"/jobs/{job}/resume")
    second = backend.claim(job)
    (change_received,) = second.claimed["changes"]
    assert (change_received["id"], change_received["step"], change_received["change"]["revision"]) == (
        change["id"],
        2,
        f"{reward}@2",
    )
    second.start(steps=9)
    second.send({"kind": "change_applied", "change": change["id"], "step": 2})
    assert [change["step"] for change in backend.api.get(f"/jobs/{job}/changes").json()["data"]] == [2]


def test_a_change_requested_while_nobody_runs_the_job_waits(backend: Backend, reward: str) -> None:
    job = job_with(backend, reward)
    revise(backend, reward)
    assert backend.api.post(f"/jobs/{job}/changes", json={}).status_code == 201
    trainer = backend.claim(job)
    assert trainer.claimed["changes"] == []
    assert len(commands(backend, trainer)) == 1


def test_an_invalid_change_is_refused_with_its_field(backend: Backend, reward: str) -> None:
    own = backend.create_job()
    refused(backend.api.post(f"/jobs/{own}/changes", json={}), "stored", "no_revision")
    job = job_with(backend, reward)
    refused(backend.api.post(f"/jobs/{job}/changes", json={"reward": "x"}), "reward", "unknown_reward")
    assert backend.api.post(f"/jobs/{job}/changes", json={"revision": 9}).status_code == 404
    backend.api.post(f"/jobs/{job}/cancel")
    ended = backend.api.post(f"/jobs/{job}/changes", json={})
    assert (ended.status_code, ended.json()["error"]["code"]) == (409, "job_ended")


def test_golden_cases_gate_a_change_too(backend: Backend, reward: str) -> None:
    job = job_with(backend, reward)
    case = {"completion": "4", "expect": {"value": 0.5}}
    backend.api.post(f"/rewards/{reward}/golden-cases", json={"cases": [case]})
    revise(backend, reward)

    def one(payload: dict[str, Any]) -> dict[str, Any]:
        results = [{"name": payload["name"], "status": "ok", "value": 1.0} for _ in payload["rows"]]
        return {"jail": "L", "results": results, "load_error": None}

    with backend.rpc_worker(score=one):
        refused(backend.api.post(f"/jobs/{job}/changes", json={}), "rewards[0]", "golden_cases_failed")
    assert backend.api.get(f"/jobs/{job}/changes").json()["data"] == []
