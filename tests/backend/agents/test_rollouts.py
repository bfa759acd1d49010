"""Rollouts of agents: offered by a trainer, taken by runners, ended once."""

import asyncio

import pytest

from backend.agents import rollouts as agent_rollouts
from backend.data.database import Database
from tests.backend.agents.rollouts import HELLO, agent_trainer, offer, take, work
from tests.backend.server import Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    return agent_trainer(backend)


def end(backend: Backend, key: str, **body: object) -> int:
    with backend.client(key, "/v1/rollout") as client:
        return client.post("/end", json=body).status_code


def test_a_rollout_is_taken_by_one_runner_and_ends_once(backend: Backend, trainer: Trainer) -> None:
    ids = offer(trainer, 3)
    first, second = take(backend, trainer, 2)
    assert [task["rollout_id"] for task in (first, second)] == ids[:2]
    assert first["item"] == {"answer": "2"} and first["messages"] == HELLO["messages"]
    assert work(trainer, 0) == {"calls": [], "ends": [], "waiting": 1}
    assert end(backend, first["api_key"], reward=0.5) == 204
    assert end(backend, second["api_key"], error="ValueError: x") == 204
    assert end(backend, first["api_key"], reward=1.0) == 401, "its key is revoked"
    ends = work(trainer)["ends"]
    assert [(e["status"], e["reward"], e["message"]) for e in ends] == [
        ("ok", 0.5, None),
        ("agent_error", None, "ValueError: x"),
    ]
    assert work(trainer)["ends"] == ends, "until the trainer says that it has them"
    assert work(trainer, 0, received_ends=ids)["ends"] == []


def test_a_job_shows_whether_it_waits_for_a_runner(backend: Backend, trainer: Trainer) -> None:
    def counts() -> dict[str, object]:
        response = backend.api.get(f"/jobs/{trainer.claimed['job']}/rollouts")
        assert response.status_code == 200, response.text
        return {key: response.json()[key] for key in ("waiting", "running", "runners")}

    assert counts() == {"waiting": 0, "running": 0, "runners": []}
    offer(trainer, 3)
    assert counts() == {"waiting": 3, "running": 0, "runners": []}
    take(backend, trainer, 2)
    assert counts() == {"waiting": 1, "running": 2, "runners": ["r"]}
    other = backend.api.get(f"/jobs/{backend.create_job()}/rollouts")
    assert (other.status_code, other.json()["error"]["code"]) == (409, "not_an_agent_job")


def test_offers_and_closing_can_be_repeated(backend: Backend, trainer: Trainer) -> None:
    [id] = offer(trainer)
    [task] = take(backend, trainer)
    body = {"attempt": trainer.attempt, "limits": {}, "rollouts": []}
    assert trainer.client.post("/rollouts", json=body).status_code == 422
    for _ in range(2):
        assert trainer.client.post("/rollouts/close", json={"attempt": trainer.attempt}).status_code == 204
    assert end(backend, task["api_key"]) == 401
    assert backend.sql("SELECT 1 FROM agent_rollout WHERE id = %s", id) == []


def test_a_lost_runner_is_replaced_once(backend: Backend, trainer: Trainer) -> None:
    [id] = offer(trainer)
    for number in (1, 2):
        [task] = take(backend, trainer)
        assert task["rollout_id"] == id
        backend.sql("UPDATE agent_rollout SET heartbeat_at = now() - interval '31 s' WHERE id = %s", id)
        ends = work(trainer, 0)["ends"]
        assert end(backend, task["api_key"], reward=1.0) == 401, f"try {number}"
    assert [(e["rollout"], e["status"]) for e in ends] == [(id, "agent_lost")]


def test_a_heartbeat_holds_a_rollout(backend: Backend, trainer: Trainer) -> None:
    [id] = offer(trainer)
    [task] = take(backend, trainer)
    backend.sql("UPDATE agent_rollout SET heartbeat_at = now() - interval '31 s' WHERE id = %s", id)
    with backend.client(task["api_key"], "/v1/rollout") as client:
        assert client.post("/heartbeat").status_code == 204
    assert work(trainer, 0)["ends"] == []
    assert end(backend, task["api_key"]) == 204


def test_a_runner_that_stops_gives_its_rollouts_back(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    [task] = take(backend, trainer)
    assert end(backend, task["api_key"], released=True) == 204
    [again] = take(backend, trainer)
    assert again["rollout_id"] == task["rollout_id"] and again["api_key"] != task["api_key"]


def test_a_rollout_over_time_has_ended(backend: Backend, trainer: Trainer) -> None:
    [id] = offer(trainer)
    [task] = take(backend, trainer)
    backend.sql("UPDATE agent_rollout SET deadline = now() WHERE id = %s", id)
    assert [e["status"] for e in work(trainer, 0)["ends"]] == ["timeout"]
    assert end(backend, task["api_key"]) == 401


def test_runners_wait_for_the_job_and_end_with_it(backend: Backend, trainer: Trainer) -> None:
    path = f"/jobs/{trainer.claimed['job']}/rollouts/take"
    body = {"runner": "r", "wait_seconds": 0}
    assert backend.api.post(path, json=body).json() == {"job_status": "running", "ended": False, "data": []}
    offer(trainer)
    trainer.end("failed", reason="broken")
    assert backend.api.post(path, json=body).json() == {"job_status": "failed", "ended": True, "data": []}


def test_other_jobs_have_no_rollouts_for_runners(backend: Backend) -> None:
    body = {"runner": "r", "wait_seconds": 0}
    refused = backend.api.post(f"/jobs/{backend.create_job()}/rollouts/take", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "not_an_agent_job")
    assert backend.api.post("/jobs/ftjob-none/rollouts/take", json=body).status_code == 404


def test_rollouts_of_another_project_are_unknown(backend: Backend, trainer: Trainer) -> None:
    offer(trainer)
    other = backend.api.post("/projects", json={"name": "agents elsewhere"}).json()["id"]
    headers = {"x-reinforge-project": other}
    path = f"/jobs/{trainer.claimed['job']}/rollouts/take"
    refused = backend.api.post(path, json={"runner": "r", "wait_seconds": 0}, headers=headers)
    assert refused.status_code == 404


def test_another_attempt_begins_without_the_rollouts_of_the_last(backend: Backend, trainer: Trainer) -> None:
    [id] = offer(trainer)
    [task] = take(backend, trainer)
    offer(trainer)
    backend.sql("UPDATE job SET lease_until = now() WHERE id = %s", trainer.claimed["job"])
    backend.sweep()
    again = backend.claim(trainer.claimed["job"])
    assert take(backend, again) == []
    assert end(backend, task["api_key"], reward=1.0) == 409

    async def clean_up() -> None:
        database = Database(backend.database_url, pool_size=1)
        async with database.transaction() as session:
            await agent_rollouts.clean_up(session)
        await database.close()

    asyncio.run(clean_up())
    assert backend.sql("SELECT 1 FROM agent_rollout WHERE id = %s", id) == []
