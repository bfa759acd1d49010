"""Sweeps over the API, advanced by the controller."""

from typing import Any

import pytest

from tests.backend.server import Backend, refused
from tests.backend.sweeps.sweeping import advance, body, create, jobs, sweep, train

pytestmark = pytest.mark.usefixtures("rpc_backend")


def test_a_sweep_runs_every_setting_and_names_the_best(backend: Backend) -> None:
    id = create(backend, {"metadata": {"team": "sums"}}, seeds=[5, 6], parallel=3)
    assert sweep(backend, id)["trials"] == []
    advance(backend)
    view = sweep(backend, id)
    assert (view["status"], view["planned"], view["counts"]) == ("running", 4, {"queued": 3})
    first = backend.job(view["trials"][0]["job"])
    assert first["name"] == "ranks: rank 2, seed 5"
    spec = first["resolved_spec"]
    assert (spec["adapter"]["rank"], spec["seed"]) == (2, 5)
    assert spec["metadata"] == {"team": "sums", "sweep": id, "trial": "0"}
    for job, rewards in zip(jobs(backend, id), ((0.1, 0.2), (0.1, 0.4), (0.9, 0.7)), strict=True):
        train(backend, job, *rewards)
    advance(backend)
    train(backend, jobs(backend, id)[3], 0.5, 0.1)
    advance(backend)
    view = sweep(backend, id)
    assert (view["status"], view["reason"], view["counts"]) == ("succeeded", None, {"succeeded": 4})
    assert [trial["objective"] for trial in view["trials"]] == [0.2, 0.4, 0.7, 0.1]
    assert [(setting["parameters"], setting["objective"]) for setting in view["settings"]] == [
        ({"adapter.rank": 4}, pytest.approx(0.4)), ({"adapter.rank": 2}, pytest.approx(0.3)),
    ]  # fmt: skip
    best = view["best"]
    assert (best["trial"], best["objective"], best["step"]) == (2, 0.7, 2)
    assert best["adapter"] == backend.job(best["job"])["adapter"] is not None
    advance(backend, 2)
    assert sweep(backend, id) == view, "nothing happens after its end"


def test_every_seed_of_a_best_objective_counts_its_best_evaluation(backend: Backend) -> None:
    id = create(backend, objective="best")
    advance(backend)
    train(backend, jobs(backend, id)[0], 0.8, 0.1)
    trial = sweep(backend, id)["trials"][0]
    assert (trial["objective"], trial["objective_step"], trial["evaluations"]) == (0.8, 1, 2)
    end(backend, id)


def test_halving_cancels_a_job_that_is_behind(backend: Backend) -> None:
    job = {"limits": {"steps": 9}, "evaluation": {"every_steps": 1}}
    id = create(backend, job, halving={"first": 2})
    advance(backend)
    first, second = jobs(backend, id)
    train(backend, first, 0.5, 0.6, end=None)
    behind = train(backend, second, 0.1, end=None)
    advance(backend)
    assert backend.job(second)["status"] == "running", "it has one evaluation"
    behind.step(2)
    behind.evaluate(2, 0.2)
    advance(backend)
    assert (backend.job(first)["status"], backend.job(second)["status"]) == ("running", "cancelling")
    assert sweep(backend, id)["trials"][1]["ended_by"] == "halving"
    end(backend, id)


def test_a_cancelled_sweep_cancels_its_jobs_and_adds_none(backend: Backend) -> None:
    id = create(backend, parallel=1)
    advance(backend)
    assert backend.api.delete(f"/sweeps/{id}").json()["error"]["code"] == "sweep_not_ended"
    assert backend.api.post(f"/sweeps/{id}/cancel").json()["status"] == "cancelling"
    advance(backend, 2)
    view = sweep(backend, id)
    assert (view["status"], view["counts"]) == ("cancelled", {"cancelled": 1})
    assert view["trials"][0]["ended_by"] == "sweep_cancelled"
    assert backend.api.post(f"/sweeps/{id}/cancel").json()["error"]["code"] == "sweep_ended"
    assert backend.api.delete(f"/sweeps/{id}").status_code == 204
    assert backend.api.get(f"/sweeps/{id}").status_code == 404
    assert backend.job(view["trials"][0]["job"])["status"] == "cancelled", "the job stays"


def test_a_refused_job_is_one_trial_and_the_others_go_on(backend: Backend) -> None:
    other = backend.add_dataset()
    id = create(backend, parameters={"data.dataset": [backend.add_dataset(), other]})
    backend.sql("DELETE FROM dataset WHERE id = %s", other)
    advance(backend)
    good, bad = sweep(backend, id)["trials"]
    assert (good["status"], bad["status"], bad["job"]) == ("queued", "refused", None)
    assert other in bad["error"]["message"]
    end(backend, id)


def test_a_used_up_budget_of_the_project_is_noted_and_tried_again(backend: Backend) -> None:
    id = create(backend)
    backend.api.put("/budgets", json={"kind": "sampled_tokens", "period": "total", "amount": 0})
    advance(backend)
    view = sweep(backend, id)
    assert (view["status"], view["counts"]) == ("running", {"pending": 2})
    assert "sampled tokens" in view["notice"]
    assert backend.api.delete("/budgets/sampled_tokens/total").status_code == 204
    advance(backend)
    view = sweep(backend, id)
    assert (view["notice"], view["counts"]) == (None, {"queued": 2})
    end(backend, id)


def test_a_deleted_job_is_not_submitted_again(backend: Backend) -> None:
    id = create(backend, parallel=1)
    advance(backend)
    job = jobs(backend, id)[0]
    train(backend, job, 0.5)
    assert backend.api.delete(f"/jobs/{job}").status_code == 204
    advance(backend)
    view = sweep(backend, id)
    assert [trial["status"] for trial in view["trials"]] == ["deleted", "queued"]
    end(backend, id)


@pytest.mark.parametrize(
    ("fields", "param", "code"),
    [
        ({"parameters": {"adapter.rank": [0]}}, "parameters.adapter.rank", "invalid_spec"),
        ({"parameters": {"adapter.ranks": [1]}}, "parameters.adapter.ranks", "invalid_spec"),
        ({"parameters": {"data.dataset": ["file-0"]}}, "parameters.data.dataset", "dataset_not_found"),
        (
            {"parameters": {"rollout.max_completion_tokens": [128]}},
            "parameters.rollout.max_completion_tokens",
            "context_too_short",
        ),
        ({"budget": {"money": 5}}, "budget.money", "no_price"),
        ({"budget": {"seconds": 0}}, "budget.seconds", "invalid_input"),
        ({"parameters": {}}, "parameters", "invalid_input"),
        (
            {"parameters": {"algorithm.preset": ["grpo", "nope"]}},
            "parameters.algorithm.preset",
            "invalid_spec",
        ),
        ({"parameters": {"adapter.rank": [2, 4, 2]}}, "parameters", "equal_settings"),
        ({"parameters": {"adapter.rank": [2, 4], "adapter": [{"rank": 8}]}}, "parameters", "equal_settings"),
        (
            {"method": "ladder", "parameters": {}, "rungs": [{"set": {"limits.steps": 3}}]},
            "rungs[0]",
            "equal_settings",
        ),
        (
            {"parameters": {"seed": list(range(100)), "adapter.rank": list(range(1, 101))}},
            "parameters",
            "too_many_trials",
        ),
        ({"seeds": [1, -1]}, "seeds", "invalid_input"),
        ({"halving": {}, "job": {"evaluation": {"rows": 0}}}, "halving", "no_held_out_rows"),
        ({"halving": {}, "job": {"limits": {"steps": 2}}}, "halving", "too_few_evaluations"),
    ],
)
def test_bad_input_is_one_error_and_nothing_is_stored(
    backend: Backend, fields: dict[str, Any], param: str, code: str
) -> None:
    count = backend.sql("SELECT count(*) FROM sweep")
    response = backend.api.post("/sweeps", json=body(backend, **fields))
    error = response.json()["error"]
    assert (response.status_code, error["param"], error["code"]) == (422, param, code), response.text
    assert backend.sql("SELECT count(*) FROM sweep") == count


def test_a_sweep_from_a_deleted_job_is_refused(backend: Backend) -> None:
    job = backend.create_job()
    train(backend, job, 0.5)
    adapter = backend.job(job)["adapter"]
    assert backend.api.delete(f"/jobs/{job}").status_code == 204
    for path in ("model", "adapter.start"):
        response = backend.api.post("/sweeps", json=body(backend, parameters={path: [adapter]}))
        refused(response, f"parameters.{path}", "adapter_not_found")


def test_a_field_of_the_sweep_that_does_not_exist_is_named(backend: Backend) -> None:
    response = backend.api.post("/sweeps", json=body(backend, paralel=3))
    refused(response, "paralel", "invalid_input")


def test_a_repeated_request_makes_one_sweep(backend: Backend) -> None:
    request, headers = body(backend), {"idempotency-key": "once"}
    answers = [backend.api.post("/sweeps", json=request, headers=headers).json() for _ in range(2)]
    assert answers[0] == answers[1]
    end(backend, answers[0]["id"])


def test_seeds_without_a_held_out_dataset_are_warned_of(backend: Backend) -> None:
    id = create(backend, seeds=2)
    assert "held_out" in sweep(backend, id)["warnings"][0]
    end(backend, id)


def test_the_list_is_newest_first_with_counts(backend: Backend) -> None:
    ids = [create(backend, name=f"list {number}") for number in range(2)]
    advance(backend)
    page = backend.api.get("/sweeps", params={"limit": 1}).json()
    assert [(view["id"], view["counts"]) for view in page["data"]] == [(ids[1], {"queued": 2})]
    page = backend.api.get("/sweeps", params={"limit": 1, "after": page["next_cursor"]}).json()
    assert [view["id"] for view in page["data"]] == [ids[0]]
    for id in ids:
        end(backend, id)
    running = backend.api.get("/sweeps", params={"status": "running"}).json()["data"]
    assert running == []


def end(backend: Backend, id: str) -> None:
    """Other tests' controllers find nothing to do about it."""
    backend.sql("UPDATE sweep SET status = 'cancelled' WHERE id = %s", id)
