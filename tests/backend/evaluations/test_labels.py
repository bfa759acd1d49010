"""Labels of stored completions, and the calibration that they make."""

from typing import Any

import pytest

from backend.evaluations.service import suggest
from tests.backend.evaluations.test_replays import job_with_completions
from tests.backend.server import Backend, refused

pytestmark = pytest.mark.usefixtures("rpc_backend")


def label(step: int, prompt: int, sample: int, right: bool | None) -> dict[str, Any]:
    return {"step": step, "prompt_no": prompt, "sample_no": sample, "right": right}


@pytest.mark.parametrize("environment", ["single_turn", "tools", "agent"])
def test_labels_are_compared_with_the_rewards(backend: Backend, environment: str) -> None:
    job = job_with_completions(backend, [1.0, 0.0, 1.0, 0.0], environment={"type": environment})
    labels = [label(1, 0, 0, True), label(1, 0, 1, False), label(1, 1, 0, False)]
    assert len(backend.api.post(f"/jobs/{job}/labels", json={"labels": labels}).json()["data"]) == 3
    calibration = backend.api.get(f"/jobs/{job}/calibration").json()
    report = calibration["report"]
    assert (report["labels"], report["right_passed"], report["wrong_passed"], report["wrong_failed"]) == (
        3,
        1,
        1,
        1,
    )
    assert report["agreement"] == pytest.approx(2 / 3)
    assert (report["milliseconds"], report["cost_per_1000"]) == (1.5, pytest.approx(2.0))
    assert [(row["prompt_no"], row["sample_no"]) for row in calibration["disagreements"]] == [(1, 0)]
    assert [(row["prompt_no"], row["sample_no"]) for row in calibration["unlabelled"]] == [(1, 1)]


def test_the_last_word_counts_and_null_takes_it_back(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    path = f"/jobs/{job}/labels"
    backend.api.post(path, json={"labels": [label(1, 0, 0, True)]})
    backend.api.post(path, json={"labels": [label(1, 0, 0, False)]})
    assert [label["right"] for label in backend.api.get(path).json()["data"]] == [False]
    assert backend.api.post(path, json={"labels": [label(1, 0, 0, None)]}).json()["data"] == []


def test_a_completion_that_is_not_there_takes_the_whole_request_with_it(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    answer = backend.api.post(
        f"/jobs/{job}/labels", json={"labels": [label(1, 0, 0, True), label(1, 9, 0, True)]}
    )
    refused(answer, "labels[1]", "unknown_completion")
    assert backend.api.get(f"/jobs/{job}/labels").json()["data"] == []


def test_what_to_label_next_has_both_sides_and_all_steps() -> None:
    places = [(step, 0, sample, float(sample == 0)) for step in range(1, 101) for sample in range(8)]
    chosen = suggest(places, 0.5)
    assert len(chosen) == 30
    assert sum(completion.sample_no == 0 for completion in chosen) == 15
    assert (
        max(completion.step for completion in chosen) > 80
        and min(completion.step for completion in chosen) < 20
    )
    assert len({(completion.step, completion.prompt_no, completion.sample_no) for completion in chosen}) == 30


def test_where_one_side_is_short_the_other_fills_up() -> None:
    places = [(step, 0, 0, 1.0) for step in range(50)] + [(1, 1, 0, 0.0)]
    chosen = suggest(places, 0.5)
    assert len(chosen) == 30
    assert sum(completion.prompt_no == 1 for completion in chosen) == 1
