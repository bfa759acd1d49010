"""Suggested values over HTTP: by model, data, workers, pre-flight and earlier jobs of the project."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.backend.preflights.test_preflights import steps
from tests.backend.server import Backend, Trainer, refused

CPU = {"kind": "started", "step": 0, "facts": {"jail": "L", "device": "cpu"}}


@pytest.fixture
def attended(backend: Backend) -> Iterator[Backend]:
    with backend.rpc_worker():
        yield backend


def suggest(backend: Backend, spec: dict[str, Any]) -> dict[str, Any]:
    before = backend.count_jobs()
    response = backend.api.post("/jobs/defaults", json=spec)
    assert response.status_code == 200, response.text
    assert backend.count_jobs() == before
    answer: dict[str, Any] = response.json()
    return answer


def values(answer: dict[str, Any]) -> dict[str, Any]:
    return {one["field"]: one["value"] for one in answer["data"]}


def bare(backend: Backend, rows: int = 20, **changes: Any) -> dict[str, Any]:
    """A job as a form has it first: model and dataset."""
    dataset = backend.add_dataset([{"prompt": f"{n:x>30}", "answer": f"{n:y>20}"} for n in range(rows)])
    return {"model": backend.add_model(), "data": {"dataset": dataset}} | changes


def run(backend: Backend, spec: dict[str, Any], seconds: float = 2.0) -> str:
    """A job of three steps on the CPU."""
    job: str = backend.api.post("/jobs", json=spec).json()["id"]
    trainer = backend.claim(job)
    trainer.send(CPU | {"steps": 3})
    for step in range(1, 5):
        measured = {"time/step": seconds, "time/generate": 1.0, "completions/length_mean": 8.0}
        trainer.step(step, **measured)
    trainer.checkpoint(3, final=True)
    trainer.end("succeeded", step=3)
    return job


def measure(backend: Backend, spec: dict[str, Any]) -> str:
    started = backend.api.post("/preflights", json=spec)
    assert started.status_code == 201, started.text
    trainer: Trainer = backend.claim(started.json()["id"])
    trainer.send(CPU | {"steps": 12})
    steps(trainer, (1.0, 0.0), (0.0, 0.0), (1.0, 1.0))
    trainer.step(4, **{"time/step": 2.0, "time/generate": 1.0, "completions/length_mean": 4.0})
    trainer.checkpoint(12, final=True)
    trainer.end("succeeded", step=12)
    id: str = started.json()["id"]
    return id


def test_model_and_dataset_are_enough_and_lengths_are_counted_by_a_worker(attended: Backend) -> None:
    answer = suggest(attended, bare(attended))
    # 18 of 20 rows train: 16 a step. The context of 128 less the longest prompt of 30 tokens.
    assert values(answer) == {
        "rollout.engine": "auto",
        "rollout.max_completion_tokens": 98,
        "rollout.completions_per_prompt": 8,
        "rollout.prompts_per_step": 16,
        "limits.steps": 30,
        "optimizer.learning_rate": "auto",
    }
    assert all(one["reason"] for one in answer["data"])
    assert (answer["preflight"], answer["estimate"]) == (None, None)
    assert answer["estimate_note"] == "No estimate yet: run the pre-flight."


def test_without_a_worker_lengths_are_estimated_from_characters(backend: Backend) -> None:
    # The model's vocabulary of 64 is of characters.
    assert values(suggest(backend, bare(backend)))["rollout.max_completion_tokens"] == 98


def test_a_job_that_states_nothing_gets_the_documented_defaults(attended: Backend) -> None:
    spec = attended.spec(model=attended.add_model("wide", context=4096))
    del spec["rollout"], spec["limits"]
    suggested = values(suggest(attended, spec))
    assert suggested["limits.steps"] == 30
    job = attended.api.post("/jobs", json=spec).json()["resolved_spec"]
    assert (job["limits"]["steps"], job["rollout"]["completions_per_prompt"]) == (100, 8)


def test_time_from_earlier_jobs_of_the_project(attended: Backend) -> None:
    model = attended.add_model("timed")
    spec = attended.spec(model=model)
    assert suggest(attended, spec)["estimate"] is None
    job = run(attended, spec)
    # Loading took no time.
    attended.sql("UPDATE attempt SET claimed_at = (SELECT started_at FROM job WHERE id = job_id)")
    estimate = suggest(attended, spec)["estimate"]
    assert (estimate["source"], estimate["ids"], estimate["device"]) == ("jobs", [job], "cpu")
    assert estimate["seconds_per_step"]["expected"] == 2.0
    # Three steps of 2 s, two evaluations of 2 rows × 4 samples, which are a step's 8 completions, of 1 s.
    assert estimate["seconds"]["expected"] == pytest.approx(8.0)
    double = spec | {"rollout": spec["rollout"] | {"prompts_per_step": 8}, "limits": {"steps": 30}}
    assert suggest(attended, double)["estimate"]["seconds_per_step"]["expected"] == 4.0
    attended.register("wrk_test", device="cuda: NVIDIA H100")
    try:
        assert suggest(attended, spec)["estimate"] is None, (
            "no online worker is like the one that was measured"
        )
    finally:
        attended.register("wrk_test", device="cpu")


def test_a_preflight_is_followed_while_model_data_and_rewards_are_its_own(attended: Backend) -> None:
    spec = attended.spec(model=attended.add_model("probed"))
    spec["rollout"] = {"prompts_per_step": 1, "completions_per_prompt": 2, "max_completion_tokens": 16}
    id = measure(attended, spec)
    run(attended, spec | {"data": {"dataset": attended.add_dataset()}}, seconds=9.0)
    open = spec | {"rollout": {"prompts_per_step": 1}}
    answer = suggest(attended, open)
    assert answer["preflight"] == id
    # The completions of 4 tokens need less than the 16 allowed; a third of the groups of 2 was mixed.
    assert values(answer)["rollout.max_completion_tokens"] == 8
    assert values(answer)["rollout.completions_per_prompt"] > 2
    assert answer["estimate"]["source"] == "preflight", "not a job on another dataset"
    assert answer["estimate"]["seconds_per_step"]["expected"] == pytest.approx(
        2.0 * values(answer)["rollout.completions_per_prompt"] / 2
    )
    other = {"type": "python", "name": "other", "source": "def grade(sample, item):\n    return 0.5\n"}
    for change in ({"rewards": [other]}, {"data": {"dataset": attended.add_dataset()}}, {"rewards": []}):
        assert suggest(attended, open | change)["preflight"] is None


def test_nothing_of_other_projects_is_used(attended: Backend) -> None:
    spec = attended.spec(model=attended.add_model("theirs"))
    run(attended, spec)
    attended.sql("INSERT INTO project (id, name, created_at) VALUES ('prj_other', 'other', now())")
    stranger = attended.add_key("owner", "other")
    unknown = stranger.post("/jobs/defaults", json=spec)
    refused(unknown, "data.dataset", "dataset_not_found")
    attended.sql("UPDATE dataset SET project_id = 'prj_other' WHERE id = %s", spec["data"]["dataset"])
    assert stranger.post("/jobs/defaults", json=spec).json()["estimate"] is None


def test_one_clear_error(backend: Backend) -> None:
    spec = bare(backend)
    post = backend.api.post
    refused(post("/jobs/defaults", json=spec | {"model": "nope"}), "model", "model_not_found")
    refused(
        post("/jobs/defaults", json=spec | {"data": {"dataset": "file-nope"}}),
        "data.dataset",
        "dataset_not_found",
    )
    error = post("/jobs/defaults", json={"model": "tiny"}).json()["error"]
    assert error["param"] == "data"
    steps = post("/jobs/defaults", json=spec | {"limits": {"steps": "many"}}).json()["error"]
    assert steps["param"] == "limits.steps"
