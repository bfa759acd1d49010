"""`GET /compare`: held-out rows of stored evaluations, settings, cost, refusals."""

from typing import Any

import pytest

from tests.backend.jobs.monitoring.test_verdicts import ROWS, evaluate, finished, rewards
from tests.backend.server import Backend


def compare(backend: Backend, *jobs: str, **params: Any) -> dict[str, Any]:
    response = backend.api.get("/compare", params={"job": list(jobs)} | params)
    assert response.status_code == 200, response.text
    comparison: dict[str, Any] = response.json()
    return comparison


def test_the_newest_evaluations_are_compared_row_by_row(backend: Backend) -> None:
    first, second = finished(backend, 12, 14), finished(backend, 12, 22)
    comparison = compare(backend, first, second)
    assert (comparison["baseline"], comparison["at"]) == (first, "last")
    baseline, other = comparison["jobs"]
    assert (baseline["id"], baseline["difference"], baseline["verdict"]) == (first, None, None)
    assert baseline["held_out"]["value"] == pytest.approx(14 / ROWS)
    assert (baseline["held_out_step"], baseline["held_out_before"]) == (2, pytest.approx(12 / ROWS))
    change = other["difference"]
    assert (change["value"], change["paired"], change["rows"]) == (pytest.approx(8 / ROWS), True, ROWS)
    assert 0 < change["low"] < change["value"] < change["high"]
    assert f"{other['name']} is better than {baseline['name']} by 0.33" in other["verdict"]
    assert other["notes"] == []
    assert other["completion_tokens"] == 5


def test_equal_prompts_of_another_dataset_are_no_pairs(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their answers may differ."""
    first = finished(backend, 12, 14)
    dataset = backend.add_dataset([{"prompt": f"{n}+1=", "answer": str(n)} for n in range(20)])
    spec = backend.spec()
    changed = spec | {"data": spec["data"] | {"dataset": dataset}}
    monkeypatch.setattr(backend, "spec", lambda **changes: changed | changes)
    other = compare(backend, first, finished(backend, 12, 22))["jobs"][1]
    assert other["difference"]["paired"] is False
    assert other["notes"] == [
        "Its held-out rows are of another dataset: the interval compares two samples of rows."
    ]


def test_the_best_checkpoint_is_compared_on_request(backend: Backend) -> None:
    first, second = finished(backend, 12, 14), finished(backend, 12, 22, 13)
    assert compare(backend, first, second)["jobs"][1]["held_out_step"] == 4
    best = compare(backend, first, second, at="best")["jobs"][1]
    assert (best["held_out_step"], best["held_out"]["value"]) == (2, pytest.approx(22 / ROWS))


def test_a_job_without_evaluations_is_listed_without_a_difference(backend: Backend) -> None:
    first = finished(backend, 12, 14)
    with backend.rpc_worker():
        queued = backend.create_job(seed=7)
    comparison = compare(backend, first, queued)
    waiting = comparison["jobs"][1]
    assert (waiting["status"], waiting["held_out"], waiting["difference"]) == ("queued", None, None)
    assert "cannot be compared" in waiting["verdict"]
    settings = {setting["path"]: setting["values"] for setting in comparison["settings"]}
    assert settings["seed"][1] == 7
    assert "name" not in settings


def test_completions_without_a_reward_do_not_count(backend: Backend) -> None:
    first = finished(backend, 12, 14)
    with backend.rpc_worker():
        job = backend.create_job(limits={"steps": 2})
    trainer = backend.claim(job)
    trainer.start(0, 2)
    evaluate(trainer, 0, rewards(12))
    compared = compare(backend, first, job)["jobs"][1]
    assert compared["held_out"]["rows"] == ROWS
    assert compared["seconds"] is None


def test_costs_need_a_price(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = finished(backend, 12, 14), finished(backend, 12, 22)
    assert [job["cost"] for job in compare(backend, first, second)["jobs"]] == [None, None]
    monkeypatch.setattr(backend.app.state.settings, "gpu_hour_price", 3600.0)
    for job in compare(backend, first, second)["jobs"]:
        assert job["cost"] == pytest.approx(job["worker_seconds"])


@pytest.mark.parametrize(
    ("jobs", "status", "code"),
    [
        (1, 422, "invalid_input"),
        (51, 422, "invalid_input"),
        ("twice", 422, "jobs_repeated"),
        ("unknown", 404, "job_not_found"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    backend: Backend, jobs: int | str, status: int, code: str
) -> None:
    job = finished(backend, 12, 14)
    ids = {"twice": [job, job], "unknown": [job, "ftjob-unknown"]}.get(str(jobs)) or [
        f"{job}{number}" for number in range(int(jobs))
    ]
    response = backend.api.get("/compare", params={"job": ids})
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)


def test_a_job_of_another_project_is_unknown(backend: Backend) -> None:
    first, second = finished(backend, 12, 14), finished(backend, 12, 22)
    created = backend.api.post("/projects", json={"name": "Other"})
    assert created.status_code == 201, created.text
    with backend.add_key("owner", "Other") as other:
        response = other.get("/compare", params={"job": [first, second]})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "job_not_found")
