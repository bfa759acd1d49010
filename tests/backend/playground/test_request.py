"""Requests of the playground, and the payload that a worker receives."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.playground.player import BODY, Client, player
from tests.backend.server import Backend, refused

USER = {"role": "user", "content": "1+1="}


@pytest.fixture(scope="module")
def checkpoint(rpc_backend: Backend) -> Iterator[str]:
    """Of a job on the model `tiny`."""
    trainer = rpc_backend.claim(rpc_backend.create_job())
    trainer.start()
    trainer.checkpoint(1, reward=0.5)
    [checkpoint_view] = rpc_backend.api.get(f"/jobs/{trainer.claimed['job']}/checkpoints").json()["data"]
    yield checkpoint_view["id"]


def payload_of(backend: Backend, **fields: Any) -> dict[str, Any]:
    with player(backend) as worker:
        client = Client(backend, **fields)
        client.start()
        payload = worker.take()
        worker.answer(result={})
        assert client.end() == {"type": "end"}
    return payload


def test_the_base_model(backend: Backend) -> None:
    backend.add_model()
    messages = [{"role": "user", "content": [{"type": "text", "text": "1+1="}]}]
    payload = payload_of(backend, prompts=[messages], samples_per_prompt=2, temperature=0.5, stop=["\n"])
    assert payload == {
        "model": "tiny",
        "model_source": "/models/tiny",
        "model_sha256": "ab" * 32,
        "adapter": None,
        "prompts": [[USER]],
        "samples_per_prompt": 2,
        "max_tokens": 256,
        "temperature": 0.5,
        "top_p": 1.0,
        "seed": 0,
        "stop": ["\n"],
    }


def test_a_checkpoint(backend: Backend, checkpoint: str) -> None:
    adapter = payload_of(backend, checkpoint=checkpoint)["adapter"]
    [(sha256, size)] = backend.sql("SELECT sha256, bytes FROM checkpoint WHERE id = %s", checkpoint)
    assert adapter == {"sha256": sha256, "bytes": size, "step": 1}


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"model": "none"}, "model", "model_not_found"),
        ({"checkpoint": "ftckpt_none"}, "checkpoint", "checkpoint_not_found"),
        ({"prompts": [[USER], []]}, "prompts[1]", "empty_prompt"),
        ({"prompts": [[{"role": "robot", "content": "x"}]]}, "prompts[0][0].role", "unknown_role"),
        ({"prompts": [[USER, {"role": "assistant", "content": "2"}]]}, "prompts[0][1]", "last_message"),
        ({"prompts": [[{"role": "user", "content": 5}]]}, "prompts[0][0].content", "wrong_type"),
        ({"stop": ["x", ""]}, "stop[1]", "invalid_stop"),
        ({"stop": ["x" * 201]}, "stop[0]", "invalid_stop"),
    ],
)
def test_what_is_wrong_is_named(backend: Backend, fields: dict[str, Any], param: str, code: str) -> None:
    backend.add_model()
    refused(backend.api.post("/sample", json=BODY | fields), param, code)


@pytest.mark.parametrize(
    ("prompts", "code"),
    [
        ([[{"role": "user", "content": "x" * 30_000}]] * 16, "prompts_too_large"),
        ([[USER] * 401], "too_many_messages"),
    ],
)
def test_too_much_is_refused(backend: Backend, prompts: Any, code: str) -> None:
    response = backend.api.post("/sample", json=BODY | {"prompts": prompts})
    assert (response.status_code, response.json()["error"]["code"]) == (413, code)


def test_a_checkpoint_fits_its_own_model_as_it_was(backend: Backend, checkpoint: str) -> None:
    backend.add_model("other")
    response = backend.api.post("/sample", json=BODY | {"model": "other", "checkpoint": checkpoint})
    refused(response, "checkpoint", "checkpoint_of_another_model")
    backend.sql("UPDATE base_model SET sha256 = %s WHERE id = 'tiny'", "ef" * 32)
    response = backend.api.post("/sample", json=BODY | {"checkpoint": checkpoint})
    refused(response, "checkpoint", "model_changed")
    backend.sql("UPDATE base_model SET sha256 = %s WHERE id = 'tiny'", "ab" * 32)


def test_a_checkpoint_of_another_project_is_missing(backend: Backend, checkpoint: str) -> None:
    [(job, project)] = backend.sql(
        "SELECT job.id, project_id FROM job JOIN checkpoint ON job_id = job.id WHERE checkpoint.id = %s",
        checkpoint,
    )
    backend.sql("INSERT INTO project (id, name, created_at) VALUES ('proj_else', 'else', now())")
    backend.sql("UPDATE job SET project_id = 'proj_else' WHERE id = %s", job)
    response = backend.api.post("/sample", json=BODY | {"checkpoint": checkpoint})
    refused(response, "checkpoint", "checkpoint_not_found")
    backend.sql("UPDATE job SET project_id = %s WHERE id = %s", project, job)


def test_viewers_do_not_make_workers_work(backend: Backend) -> None:
    with backend.add_key("viewer") as viewer:
        assert viewer.post("/sample", json=BODY).status_code == 403
    assert backend.bare.post("/api/v1/sample", json=BODY).status_code == 401
