"""Deployments with a scripted worker: states, usage, end."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from backend.data.database import Database
from backend.deployments.serving import sweep
from tests.backend.openai.chat_request import Chat, delta, done, prompt
from tests.backend.playground.player import Player, player
from tests.backend.server import Backend, refused, wait_until

LOST = {"code": "serving_lost", "message": "The process that samples has ended.", "hint": "Try again."}


@pytest.fixture(scope="module")
def checkpoints(rpc_backend: Backend) -> list[dict[str, Any]]:
    """Two of a finished job on the model `tiny`; the second one is its adapter."""
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start(steps=2)
    for step in (1, 2):
        trainer.step(step)
        trainer.checkpoint(step, reward=step / 10, final=step == 2)
    trainer.end("succeeded")
    listed: list[dict[str, Any]] = rpc_backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    return sorted(listed, key=lambda checkpoint: int(checkpoint["step"]))


@pytest.fixture
def worker(backend: Backend) -> Iterator[Player]:
    backend.add_model()
    with player(backend) as worker:
        yield worker
    backend.sql("DELETE FROM deployment")
    backend.sql("DELETE FROM call")


def get(backend: Backend, name: str) -> dict[str, Any]:
    deployment: dict[str, Any] = backend.api.get(f"/deployments/{name}").json()
    return deployment


def state(backend: Backend, name: str, state: str) -> dict[str, Any]:
    """The deployment, once it is in that state."""
    deployment: dict[str, Any] = wait_until(
        lambda: (now := get(backend, name))["state"] == state and now, f"{name} to be {state}"
    )
    return deployment


def deploy(backend: Backend, worker: Player, name: str = "sums", **target: str) -> dict[str, Any]:
    """One that has been loaded."""
    answer = backend.api.post("/deployments", json={"name": name, **(target or {"model": "tiny"})})
    assert answer.status_code == 201, answer.text
    assert answer.json()["state"] == "loading"
    worker.take()
    worker.answer(result={})
    return state(backend, name, "ready")


def answered(backend: Backend, worker: Player, name: str = "sums") -> dict[str, Any]:
    """The payload of a request that succeeds."""
    chat = Chat(backend, model=name)
    payload = worker.take()
    worker.tell(1, prompt(7), done("2", 2))
    worker.answer(result={})
    assert chat.json()["model"] == name
    return payload


# ── What is behind a name ──────────────────────────────────────────────────────────────────────────────────


def test_it_is_loaded_ahead_and_then_sampled_under_its_name(
    backend: Backend, worker: Player, checkpoints: list[dict[str, Any]]
) -> None:
    first = checkpoints[0]
    created = backend.api.post("/deployments", json={"name": "sums", "checkpoint": first["id"]}).json()
    loading = worker.take()
    assert loading["prompts"] == []
    [(owner,)] = backend.sql("SELECT project_id FROM call WHERE state = 'taken'")
    assert owner == backend.sql("SELECT id FROM project")[0][0]
    worker.answer(result={})
    deployment = state(backend, "sums", "ready")
    assert deployment["id"] == created["id"]
    assert (deployment["model"], deployment["checkpoint"], deployment["step"]) == ("tiny", first["id"], 1)
    payload = answered(backend, worker)
    [(sha256,)] = backend.sql("SELECT sha256 FROM checkpoint WHERE id = %s", first["id"])
    assert payload["adapter"]["sha256"] == loading["adapter"]["sha256"] == sha256
    assert payload["prompts"] != []


def test_an_adapter_and_a_base_model(
    backend: Backend, worker: Player, checkpoints: list[dict[str, Any]]
) -> None:
    [adapter] = backend.api.get("/adapters").json()["data"]
    deployment = deploy(backend, worker, adapter=adapter["id"])
    assert (deployment["adapter"], deployment["checkpoint"]) == (adapter["id"], checkpoints[1]["id"])
    assert deploy(backend, worker, "plain", model="tiny")["bytes"] is None
    assert answered(backend, worker, "plain")["adapter"] is None
    listed = backend.api.get("/deployments").json()["data"]
    assert [deployment["name"] for deployment in listed] == ["plain", "sums"]


def test_a_name_can_be_pointed_elsewhere(
    backend: Backend, worker: Player, checkpoints: list[dict[str, Any]]
) -> None:
    deploy(backend, worker, checkpoint=checkpoints[0]["id"])
    answer = backend.api.patch(
        "/deployments/sums", headers={"if-match": "*"}, json={"checkpoint": checkpoints[1]["id"]}
    )
    assert (answer.json()["state"], answer.json()["step"]) == ("loading", 2)
    sha256 = worker.take()["adapter"]["sha256"]
    worker.answer(result={})
    state(backend, "sums", "ready")
    assert answered(backend, worker)["adapter"]["sha256"] == sha256
    [(first,)] = backend.sql("SELECT sha256 FROM checkpoint WHERE id = %s", checkpoints[0]["id"])
    assert sha256 != first


def test_weights_outlive_their_checkpoint(
    backend: Backend, worker: Player, checkpoints: list[dict[str, Any]]
) -> None:
    """A job keeps few checkpoints; what is deployed goes on being served, and its object is not swept."""
    deploy(backend, worker, checkpoint=checkpoints[0]["id"])
    [weights] = backend.sql(
        "DELETE FROM checkpoint WHERE id = %s RETURNING id, job_id, step, attempt, sha256, bytes, best, final,"
        " created_at",
        checkpoints[0]["id"],
    )
    deployment = get(backend, "sums")
    assert (deployment["checkpoint"], deployment["step"]) == (None, 1)
    assert answered(backend, worker)["adapter"]["sha256"] == weights[4]
    backend.sql(
        "INSERT INTO checkpoint (id, job_id, step, attempt, sha256, bytes, best, final, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
        *weights,
    )


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"name": "tiny", "model": "tiny"}, "name", "name_taken"),
        ({"name": "starter-arith", "model": "tiny"}, "name", "name_taken"),
        ({"name": "x", "model": "none"}, "model", "model_not_found"),
        ({"name": "x", "adapter": "adp_none"}, "adapter", "adapter_not_found"),
        ({"name": "x", "checkpoint": "ftckpt_none"}, "checkpoint", "checkpoint_not_found"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_wrong_is_named(
    backend: Backend, worker: Player, body: dict[str, Any], param: str, code: str
) -> None:
    refused(backend.api.post("/deployments", json=body), param, code)
    assert backend.api.get("/deployments").json()["data"] == []


def test_one_target_and_one_deployment_of_a_name(backend: Backend, worker: Player) -> None:
    for body in (
        {"name": "a/b", "model": "tiny"},
        {"name": "x"},
        {"name": "x", "model": "tiny", "adapter": "adp_x"},
    ):
        assert backend.api.post("/deployments", json=body).status_code == 422
    deploy(backend, worker)
    again = backend.api.post("/deployments", json={"name": "sums", "model": "tiny"})
    assert (again.status_code, again.json()["error"]["code"]) == (409, "deployment_exists")


def test_an_idempotency_key_makes_one(backend: Backend, worker: Player) -> None:
    headers = {"idempotency-key": "once"}
    answers = [
        backend.api.post("/deployments", json={"name": "once", "model": "tiny"}, headers=headers)
        for _ in range(2)
    ]
    assert answers[0].json()["id"] == answers[1].json()["id"]


def test_viewers_look_only(backend: Backend, worker: Player) -> None:
    deploy(backend, worker)
    with backend.add_key("viewer") as viewer:
        assert viewer.get("/deployments/sums").status_code == 200
        assert viewer.post("/deployments", json={"name": "x", "model": "tiny"}).status_code == 403
        assert viewer.post("/deployments/sums/stop").status_code == 403
        assert viewer.delete("/deployments/sums").status_code == 403


# ── What is counted ────────────────────────────────────────────────────────────────────────────────────────


def usage(backend: Backend, name: str = "sums") -> tuple[int, int, int, int]:
    counted = get(backend, name)["usage"]
    names = ("requests", "failed_requests", "prompt_tokens", "completion_tokens")
    requests, failed, input_tokens, output_tokens = (int(counted[name]) for name in names)
    return requests, failed, input_tokens, output_tokens


def test_requests_and_tokens_are_counted_however_they_end(backend: Backend, worker: Player) -> None:
    deploy(backend, worker)
    assert usage(backend) == (0, 0, 0, 0)
    answered(backend, worker)
    assert usage(backend) == (1, 0, 7, 2)

    left = Chat(backend, model="sums", stream=True, patience=0.5)
    worker.take()
    worker.tell(1, prompt(10), delta("a", 3))
    wait_until(lambda: left.left, "the client's leaving")
    wait_until(lambda: usage(backend) == (2, 0, 17, 5), "the request that was broken off")

    lost = Chat(backend, model="sums", stream=True)
    worker.take()
    worker.tell(1, prompt(1), delta("a", 1))
    worker.answer(error=LOST)
    lost.end()
    wait_until(lambda: usage(backend) == (3, 1, 18, 6), "the request that failed")
    assert get(backend, "sums")["last_used_at"]


# ── Loading, failing, coming back ──────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_loaded_says_why_and_the_next_request_tries_again(
    backend: Backend, worker: Player
) -> None:
    backend.api.post("/deployments", json={"name": "sums", "model": "tiny"})
    worker.take()
    worker.answer(error={"code": "model_load_failed", "message": "No weights.", "hint": "Look."})
    deployment = state(backend, "sums", "failed")
    assert deployment["error"] == {"code": "model_load_failed", "message": "No weights.", "hint": "Look."}
    answered(backend, worker)
    deployment = get(backend, "sums")
    assert (deployment["state"], deployment["error"]) == ("ready", None)


def test_without_a_worker_loading_fails_and_requests_say_so(backend: Backend) -> None:
    backend.add_model()
    backend.sql("UPDATE worker SET kind = 'away' WHERE kind = 'calls'")
    backend.api.post("/deployments", json={"name": "lonely", "model": "tiny"})
    assert state(backend, "lonely", "failed")["error"]["code"] == "no_worker"
    chat = Chat(backend, model="lonely")
    assert (chat.json()["error"]["code"], chat.end().status_code) == ("no_worker", 503)
    backend.sql("UPDATE worker SET kind = 'calls' WHERE kind = 'away'")
    backend.sql("DELETE FROM deployment")


def test_a_lost_host_is_a_clear_error_and_the_next_request_works(backend: Backend, worker: Player) -> None:
    deploy(backend, worker)
    chat = Chat(backend, model="sums")
    worker.take()
    worker.answer(error=LOST)
    assert (chat.json()["error"]["code"], chat.end().status_code) == ("serving_lost", 503)
    assert state(backend, "sums", "failed")["error"]["code"] == "serving_lost"
    answered(backend, worker)
    assert get(backend, "sums")["state"] == "ready"


def test_a_bad_request_says_nothing_about_the_deployment(backend: Backend, worker: Player) -> None:
    deploy(backend, worker)
    chat = Chat(backend, model="sums")
    worker.take()
    worker.answer(error={"type": "invalid_request_error", "code": "context_overflow", "message": "Too long."})
    assert chat.end().status_code == 400
    assert get(backend, "sums")["state"] == "ready"


def test_other_files_of_the_base_model_are_refused(
    backend: Backend, worker: Player, checkpoints: list[dict[str, Any]]
) -> None:
    deploy(backend, worker, checkpoint=checkpoints[0]["id"])
    backend.sql("UPDATE base_model SET sha256 = %s WHERE id = 'tiny'", "ef" * 32)
    chat = Chat(backend, model="sums")
    assert (chat.json()["error"]["code"], chat.end().status_code) == ("model_changed", 400)
    backend.sql("UPDATE base_model SET sha256 = %s WHERE id = 'tiny'", "ab" * 32)


# ── Stopping ───────────────────────────────────────────────────────────────────────────────────────────────


def post(backend: Backend, path: str) -> httpx.Response:
    return backend.api.post(f"/deployments/{path}")


def test_stopping_lets_what_is_under_way_end(backend: Backend, worker: Player) -> None:
    deploy(backend, worker)
    chat = Chat(backend, model="sums")
    worker.take()
    worker.tell(1, prompt(7), delta("2", 1))
    stopped = post(backend, "sums/stop").json()
    assert (stopped["state"], stopped["under_way"]) == ("draining", 1)
    late = Chat(backend, model="sums")
    assert (late.json()["error"]["code"], late.end().status_code) == ("deployment_stopped", 409)
    assert late.end().headers["x-should-retry"] == "false"
    assert backend.api.delete("/deployments/sums").status_code == 409
    worker.tell(2, done("2", 2))
    worker.answer(result={})
    assert chat.json()["choices"][0]["message"]["content"] == "2"
    assert state(backend, "sums", "stopped")["under_way"] == 0


def test_one_with_nothing_under_way_is_stopped_at_once_and_can_be_started_or_deleted(
    backend: Backend, worker: Player
) -> None:
    deploy(backend, worker)
    assert post(backend, "sums/stop").json()["state"] == "stopped"
    assert post(backend, "sums/start").json()["state"] == "loading"
    worker.take()
    worker.answer(result={})
    state(backend, "sums", "ready")
    answered(backend, worker)
    assert post(backend, "sums/stop").json()["state"] == "stopped"
    assert backend.api.delete("/deployments/sums").status_code == 204
    assert backend.api.get("/deployments/sums").status_code == 404
    chat = Chat(backend, model="sums")
    assert chat.json()["error"]["code"] == "model_not_found"


def test_stopping_while_it_loads_wins(backend: Backend, worker: Player) -> None:
    backend.api.post("/deployments", json={"name": "sums", "model": "tiny"})
    worker.take()
    assert post(backend, "sums/stop").json()["state"] == "stopped"
    worker.answer(result={})
    answered(backend, worker, deploy(backend, worker, "other")["name"])  # so the loader has had its time
    assert get(backend, "sums")["state"] == "stopped"


def swept(backend: Backend) -> None:
    async def once() -> None:
        database = Database(backend.database_url, pool_size=2)
        try:
            async with database.transaction() as session:
                await sweep(session)
        finally:
            await database.close()

    asyncio.run(once())


def test_what_a_process_has_left_behind_is_swept(backend: Backend, worker: Player) -> None:
    deploy(backend, worker)
    deploy(backend, worker, "old")
    backend.sql("UPDATE deployment SET state = 'draining' WHERE name = 'sums'")
    backend.sql(
        "UPDATE deployment SET state = 'loading', updated_at = now() - interval '1 h' WHERE name = 'old'"
    )
    swept(backend)
    assert get(backend, "sums")["state"] == "stopped"
    deployment = get(backend, "old")
    assert (deployment["state"], deployment["error"]["code"]) == ("failed", "loading_interrupted")
