"""`POST /sweeps/check`: what the form shows before a sweep is created."""

from typing import Any

import pytest

from tests.backend.server import Backend
from tests.backend.sweeps.sweeping import body


def checked(backend: Backend, **fields: Any) -> dict[str, Any]:
    response = backend.api.post("/sweeps/check", json=body(backend, **fields))
    assert response.status_code == 200, response.text
    view: dict[str, Any] = response.json()
    return view


def test_it_counts_the_jobs_lists_the_first_and_stores_nothing(backend: Backend) -> None:
    before = backend.sql("SELECT count(*) FROM sweep")
    check = checked(backend, parameters={"adapter.rank": list(range(1, 31))}, seeds=2)
    assert (check["ok"], check["problems"], check["planned"]) == (True, [], 60)
    assert check["varied"] == ["adapter.rank", "seed"]
    assert len(check["trials"]) == 24
    assert check["trials"][1] == {
        "number": 1, "setting": 0, "name": "rank 1", "parameters": {"adapter.rank": 1}, "seed": 1,
    }  # fmt: skip
    assert "held_out" in check["warnings"][0]
    assert backend.sql("SELECT count(*) FROM sweep") == before


def test_settings_that_depend_on_results_are_not_listed(backend: Backend) -> None:
    rank = {"adapter.rank": {"min": 1, "max": 64, "integer": True}}
    check = checked(backend, method="tpe", trials=12, parameters=rank)
    assert (check["planned"], len(check["trials"])) == (12, 4)
    rates = {"optimizer.learning_rate": {"min": 1e-5, "max": 1e-2, "log": True}}
    check = checked(backend, method="cma_es", trials=12, parameters=rank | rates, seeds=2)
    assert (check["ok"], check["planned"], len(check["trials"])) == (True, 24, 2)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"parameters": {"adapter.rank": {"min": 3, "max": 1, "points": 2}}}, "parameters.adapter.rank"),
        ({"parameters": {"adapter.rank": {"min": 1, "max": 3}}}, "parameters.adapter.rank"),
        ({"parameters": {"adapter.rank": []}}, "parameters.adapter.rank"),
        ({"parameters": {"adapter.rank": [0]}}, "parameters.adapter.rank"),
        (
            {"parameters": {"adapter.rank": {"min": 1, "max": 3, "points": 1}}},
            "parameters.adapter.rank.points",
        ),
        ({"seeds": 0}, "seeds"),
        ({"parameters": {"data.dataset": ["file-0"]}}, "parameters.data.dataset"),
        ({"job": {"model": "nope"}}, "job.model"),
        ({"job": {"limits": {"steps": 0}}}, "job.limits.steps"),
        ({"budget": {"money": 5}}, "budget.money"),
        ({"budget": {"jobs": 0}}, "budget.jobs"),
        ({"method": "random"}, "trials"),
        ({"method": "tpe", "trials": 3}, "trials"),
        ({"method": "cma_es", "trials": 2}, "parameters"),
        ({"halving": {}, "job": {"limits": {"steps": 3}}}, "halving"),
        (
            {"method": "ladder", "parameters": {}, "rungs": [{"set": {"adapter.rank": 0}}]},
            "rungs[0].set.adapter.rank",
        ),
        ({"parallel": 0}, "parallel"),
    ],
)
def test_a_problem_names_its_field(backend: Backend, fields: dict[str, Any], param: str) -> None:
    check = checked(backend, **fields)
    assert (check["ok"], {problem["param"] for problem in check["problems"]}) == (False, {param})
