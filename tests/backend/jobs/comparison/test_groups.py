"""Groups, curves and prompts of a comparison."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.backend.jobs.comparison.test_compare import compare
from tests.backend.jobs.monitoring.test_verdicts import ROWS, finished
from tests.backend.jobs.prompts.test_prompts import Draws, heads_of, report
from tests.backend.server import Backend


@pytest.fixture(scope="module")
def seeds(backend: Backend) -> list[str]:
    """Two jobs with a learning rate of 1e-4 and two with 2e-4, whose seeds differ."""
    jobs, spec, data = [], backend.spec, {"dataset": backend.add_dataset()}
    with pytest.MonkeyPatch.context() as patch:
        for place, (rate, right) in enumerate(((1e-4, 12), (1e-4, 14), (2e-4, 20), (2e-4, 22))):
            changes = {"data": data, "seed": place, "optimizer": {"learning_rate": rate}}
            patch.setattr(backend, "spec", lambda changes=changes, **more: spec(**changes, **more))
            jobs.append(finished(backend, 12, right, **{"reward/std": place / 10}))
    return jobs


@pytest.mark.parametrize(
    ("by", "values"), [("optimizer.learning_rate", [1e-4, 2e-4]), ("seeds", [None, None])]
)
def test_groups_are_compared_with_that_of_the_first_job(
    backend: Backend, seeds: list[str], by: str, values: list[Any]
) -> None:
    comparison = compare(backend, *seeds, group=by)
    baseline, other = comparison["groups"]
    assert [group["value"] for group in comparison["groups"]] == values
    assert (baseline["jobs"], other["jobs"]) == (seeds[:2], seeds[2:])
    assert baseline["held_out"] == {
        "mean": pytest.approx(13 / ROWS),
        "minimum": pytest.approx(12 / ROWS),
        "maximum": pytest.approx(14 / ROWS),
        "jobs": 2,
    }
    assert (baseline["difference"], baseline["verdict"], baseline["notes"]) == (None, None, [])
    assert other["difference"]["value"] == pytest.approx(8 / ROWS)
    assert other["difference"]["paired"] is True
    assert (
        "learning_rate 0.0002 is better than learning_rate 0.0001 by 0.33" in other["verdict"]
        and "24 held-out prompts, 2 against 2 jobs" in other["verdict"]
    )
    assert other["notes"] == ["Fewer than 5 jobs in a group: the interval is approximate."]
    assert "reward/std" in comparison["metrics"]


def test_a_setting_of_no_job_cannot_group(backend: Backend, seeds: list[str]) -> None:
    response = backend.api.get("/compare", params={"job": seeds, "group": "optimizer.nothing"})
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (422, "setting_not_found", "group")


def curves(backend: Backend, jobs: Sequence[str], **query: Any) -> list[dict[str, Any]]:
    response = backend.api.get("/compare/curves", params={"job": list(jobs)} | query)
    assert response.status_code == 200, response.text
    data: list[dict[str, Any]] = response.json()["data"]
    return data


def test_curves_of_jobs_and_bands_of_groups(backend: Backend, seeds: list[str]) -> None:
    keys = ["reward/std", "held_out/reward_mean", "unknown"]
    std, held_out, unknown = curves(backend, seeds, key=keys)
    assert [curve["job"] for curve in std["curves"]] == seeds
    assert [(curve["steps"], curve["values"]) for curve in std["curves"]] == [
        ([1, 2], [place / 10] * 2) for place in range(4)
    ]
    assert held_out["curves"][3]["values"] == [0.5, pytest.approx(22 / ROWS, abs=1e-5)]
    assert unknown == {"key": "unknown", "curves": []}
    [std] = curves(backend, seeds, key=keys[:1], group="seeds")
    band = std["curves"][1]
    assert (band["job"], band["group"]) == (None, "learning_rate 0.0002")
    assert (band["steps"], band["values"]) == ([1, 2], [0.25, 0.25])
    assert (band["minima"], band["maxima"], band["jobs"]) == ([0.2, 0.2], [0.3, 0.3], [2, 2])
    [std] = curves(backend, seeds, key=keys[:1], buckets=2)
    assert std["curves"][0]["steps"] == [1, 2]


PROMPTS: list[dict[str, Draws]] = [
    {"same": [[1, 1]], "better": [[0, 0]], "worse": [[1, 0]], "only of the first": [[1]], "failed": [[None]]},
    {"same": [[1, 1]], "better": [[1, 1]], "worse": [[0, 0]], "failed": [[1]]},
]


@pytest.fixture(scope="module")
def pair(rpc_backend: Backend) -> list[str]:
    """Two jobs that train on prompts of the same texts."""
    jobs = []
    for prompts in PROMPTS:
        jobs.append(rpc_backend.create_job())
        trainer = rpc_backend.claim(jobs[-1])
        trainer.start()
        for split in ("train", "held_out"):
            report(trainer, 1, prompts, split=split, heads=heads_of(prompts))
    return jobs


def prompts(backend: Backend, jobs: Sequence[str], **query: Any) -> dict[str, Any]:
    response = backend.api.get("/compare/prompts", params={"job": list(jobs)} | query)
    assert response.status_code == 200, response.text
    page: dict[str, Any] = response.json()
    return page


@pytest.mark.parametrize("split", ["train", "held_out"])
def test_common_prompts_are_listed_by_their_difference(
    rpc_backend: Backend, pair: list[str], split: str
) -> None:
    page = prompts(rpc_backend, pair, split=split)
    assert [(row["prompt"], row["difference"], row["reward"]) for row in page["data"]] == [
        ("Prompt 100%: better", 1, 0.5),
        ("Prompt 100%: worse", 0.5, 0.25),
        ("Prompt 100%: same", 0, 1),
    ]
    assert page["total"] == 3
    better = page["data"][0]
    assert better["answer"] == "answer 1"
    assert [(one["job"], one["reward"], one["completion_tokens"]) for one in better["results"]] == [
        (pair[0], 0, 3),
        (pair[1], 1, 3),
    ]


def test_pages_continue_and_words_narrow_the_list(rpc_backend: Backend, pair: list[str]) -> None:
    first = prompts(rpc_backend, pair, limit=2)
    rest = prompts(rpc_backend, pair, limit=2, after=first["next_cursor"])
    assert [row["prompt"] for row in rest["data"]] == ["Prompt 100%: same"]
    assert (first["has_more"], rest["has_more"], rest["total"]) == (True, False, 3)
    [worse] = prompts(rpc_backend, pair, q="WORSE", sort="reward")["data"]
    assert worse["prompt"] == "Prompt 100%: worse"
    for cursor in ("nothing", first["next_cursor"]):
        query = {"job": pair, "sort": "reward", "after": cursor}
        response = rpc_backend.api.get("/compare/prompts", params=query)
        assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid_cursor")


def test_completions_of_one_prompt_are_side_by_side(rpc_backend: Backend, pair: list[str]) -> None:
    query = {"job": pair[::-1], "prompt_hash": "hash of worse", "samples": 1}
    response = rpc_backend.api.get("/compare/completions", params=query)
    assert response.status_code == 200, response.text
    compared = response.json()
    assert (compared["prompt"], compared["answer"]) == ("Prompt 100%: worse", "answer 2")
    second, first = compared["results"]
    assert (second["job"], first["job"]) == (pair[1], pair[0])
    assert (first["reward"], first["completions"], first["step"]) == (0.5, 2, 1)
    [sample] = first["samples"]
    assert (sample["text"], sample["reward"], sample["length"]) == ("a completion", 1, 3)
    missing = rpc_backend.api.get("/compare/completions", params=query | {"prompt_hash": "hash of nothing"})
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "prompt_not_found")


@pytest.mark.parametrize("path", ["/compare", "/compare/curves", "/compare/prompts", "/compare/completions"])
def test_jobs_of_another_project_are_unknown(rpc_backend: Backend, pair: list[str], path: str) -> None:
    name = f"Other for {path}"
    assert rpc_backend.api.post("/projects", json={"name": name}).status_code == 201
    with rpc_backend.add_key("owner", name) as other:
        response = other.get(path, params={"job": pair, "key": "reward/mean", "prompt_hash": "hash"})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "job_not_found")
