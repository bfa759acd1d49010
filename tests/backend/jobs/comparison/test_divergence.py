"""`GET /compare/divergence`: where two jobs part."""

from typing import Any

import pytest

from tests.backend.jobs.monitoring.test_group import group, send
from tests.backend.server import Backend


def run(backend: Backend, later: dict[str, Any] | None = None, **spec: Any) -> str:
    """Two steps of two prompts and evaluations around them; `later` changes the second completion of prompt 1 at
    step 2 and what follows.
    """
    id = backend.create_job(**spec)
    trainer = backend.claim(id)
    trainer.start()
    send(trainer, 0, "held_out", [group(0, "h", trainer_logprobs=None, entropies=None)])
    for step in (1, 2):
        groups = [group(0, "a"), group(1, "b")]
        if step == 2 and later:
            groups[1][1] |= later
        send(trainer, step, "train", groups)
        trainer.step(
            step, **{"time/step": float(len(id)), "optimizer/learning_rate": 1e-3 if not later else 2e-3}
        )
    trainer.send({"kind": "log", "level": "info", "message": "ok"})
    return id


@pytest.fixture(scope="module")
def data(rpc_backend: Backend) -> dict[str, Any]:
    return {"data": {"dataset": rpc_backend.add_dataset()}}


def divergence(backend: Backend, *jobs: str) -> dict[str, Any]:
    response = backend.api.get("/compare/divergence", params={"job": list(jobs)})
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def test_equal_jobs_do_not_part(rpc_backend: Backend, data: dict[str, Any]) -> None:
    answer = divergence(rpc_backend, run(rpc_backend, **data), run(rpc_backend, **data))
    assert (answer["completion"], answer["reward"], answer["metric"]) == (None, None, None)
    assert (answer["steps"], answer["settings"], answer["notes"]) == (3, [], [])
    assert answer["effect"]["difference"] is not None


def test_the_first_token_and_metric_that_differ_are_named(rpc_backend: Backend, data: dict[str, Any]) -> None:
    later = {"text": "aX", "token_ids": [1, 9], "tokens": ["a", "X"]}
    first, second = run(rpc_backend, **data), run(rpc_backend, later, **data, seed=0)
    answer = divergence(rpc_backend, first, second)
    parted = answer["completion"]
    assert (parted["step"], parted["split"], parted["prompt_no"], parted["sample_no"]) == (2, "train", 1, 1)
    assert (parted["what"], parted["token"], parted["values"], parted["before"]) == (
        "token",
        1,
        ["b", "X"],
        "a",
    )
    assert parted["prompt"] == "asked b"
    metric = answer["metric"]
    assert (metric["step"], metric["key"], metric["values"]) == (1, "optimizer/learning_rate", [1e-3, 2e-3])
    assert answer["reward"] is None


def test_an_equal_completion_with_another_reward_is_named(rpc_backend: Backend, data: dict[str, Any]) -> None:
    first, second = run(rpc_backend, **data), run(rpc_backend, {"reward": 0.75}, **data)
    answer = divergence(rpc_backend, first, second)
    assert answer["completion"] is None
    reward = answer["reward"]
    assert (reward["step"], reward["sample_no"], reward["what"], reward["values"]) == (
        2,
        1,
        "reward",
        [0.0, 0.75],
    )


def test_other_seeds_are_noted(rpc_backend: Backend, data: dict[str, Any]) -> None:
    answer = divergence(rpc_backend, run(rpc_backend, **data), run(rpc_backend, **data, seed=5))
    assert [setting["path"] for setting in answer["settings"]] == ["seed"]
    assert "different seeds" in answer["notes"][0]


def test_it_takes_two_jobs_of_the_project(rpc_backend: Backend, data: dict[str, Any]) -> None:
    job = run(rpc_backend, **data)
    for jobs, status in (([job], 422), ([job, job], 422), ([job, "ftjob-none"], 404)):
        response = rpc_backend.api.get("/compare/divergence", params={"job": jobs})
        assert response.status_code == status
