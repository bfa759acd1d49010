"""Stored and returned verdicts of jobs, and the checkpoint that a download takes."""

from typing import Any

import pytest

from tests.backend.jobs.lifecycle.test_checkpoint_download import save
from tests.backend.server import Backend, Trainer

ROWS = 24


def evaluate(trainer: Trainer, step: int, rewards: list[float], **more: float) -> None:
    """One completion for each held-out row, and their mean."""
    rows = [
        {
            "prompt_no": row, "sample_no": 0, "prompt_hash": f"{row:064x}", "row_index": row, "reward": reward,
            "advantage": None, "length": 5, "finish_reason": "stop",
        }
        for row, reward in enumerate(rewards)
    ]  # fmt: skip
    blob = trainer.blob(f"rollouts {trainer.claimed['job']} {step}".encode(), "rollouts")
    rollouts = {"kind": "rollouts", "step": step, "split": "held_out", "blob": blob, "rows": rows}
    mean = sum(rewards) / len(rewards)
    values = {"held_out/reward_mean": mean, "held_out/reward_std_error": 0.1} | more
    trainer.send(
        rollouts | {"revisions": {}},
        {"kind": "evaluated", "step": step, "values": values, "rows": len(rows), "samples_per_row": 1},
    )


def rewards(right: int) -> list[float]:
    return [1.0] * right + [0.0] * (ROWS - right)


def finished(backend: Backend, *right: int, last: dict[str, float] | None = None, **step: float) -> str:
    """A job that succeeded, whose evaluations at 0, 2, 4 … had so many rows right."""
    with backend.rpc_worker():
        job = backend.create_job(limits={"steps": 2 * (len(right) - 1)})
    trainer = backend.claim(job)
    trainer.start(0, 2 * (len(right) - 1))
    evaluate(trainer, 0, rewards(right[0]))
    for place, count in enumerate(right[1:], 1):
        trainer.step(2 * place - 1, **step)
        trainer.step(2 * place, **step)
        evaluate(trainer, 2 * place, rewards(count), **(last or {} if place == len(right) - 1 else {}))
        trainer.checkpoint(2 * place, count / ROWS, final=place == len(right) - 1)
    trainer.end("succeeded")
    return job


def test_a_job_that_learned_says_so_with_an_interval_from_its_rows(backend: Backend) -> None:
    job = finished(backend, 12, 20, 22)
    view = backend.job(job)
    assert view["verdict"] == "learned"
    detail = view["verdict_detail"]
    assert (detail["outcome"], detail["note"], detail["rows"]) == ("learned", None, ROWS)
    # Ten of 24 rows gained 1. Two means apart, each ± 0.1, would leave a wider interval.
    assert detail["change"]["value"] == pytest.approx(10 / 24)
    assert detail["change"]["low"] == pytest.approx(0.204, abs=0.003)
    [listed] = [item for item in backend.api.get("/jobs").json()["data"] if item["id"] == job]
    assert listed["verdict_detail"] == detail
    events = backend.api.get(f"/jobs/{job}/events", params={"limit": 500}).json()["data"]
    statuses = [event["data"] for event in events if event["type"] == "status"]
    assert [status["verdict"] for status in statuses] == [None] * (len(statuses) - 1) + ["learned"]


@pytest.mark.parametrize(
    ("right", "verdict", "note"),
    [((12, 12, 13), "no_change", "no change"), ((20, 4, 2), "worse_than_base", "worse than base")],
)
def test_one_that_did_not_is_no_plain_success(
    backend: Backend, right: tuple[int, ...], verdict: str, note: str
) -> None:
    view = backend.job(finished(backend, *right))
    assert (view["status"], view["verdict"], view["verdict_detail"]["note"]) == ("succeeded", verdict, note)


def test_witnesses_and_failed_rewards_are_read_from_the_series(backend: Backend) -> None:
    job = finished(backend, 12, 20, 22, **{"reward/length_correlation": 0.96, "reward/error_share": 0.1})
    detail = backend.job(job)["verdict_detail"]
    assert detail["message"] == (
        "Cannot tell: reward follows length (r = 0.96), rewards failed on 10% of completions."
    )
    assert [problem["code"] for problem in detail["problems"]] == ["reward_follows_length", "reward_errors"]


def test_a_paused_job_has_a_verdict_until_it_goes_on(backend: Backend) -> None:
    with backend.rpc_worker():
        job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    evaluate(trainer, 0, rewards(12))
    trainer.step(1)
    assert backend.job(job)["verdict"] is None
    trainer.end("paused", reason="reward_errors", message="Too many.")
    assert backend.job(job)["verdict_detail"]["problems"][0]["code"] == "not_compared"
    backend.api.post(f"/jobs/{job}/resume").raise_for_status()
    assert backend.job(job)["verdict"] is None


def test_a_job_without_a_step_has_none(backend: Backend) -> None:
    with backend.rpc_worker():
        job = backend.create_job()
    backend.api.post(f"/jobs/{job}/cancel").raise_for_status()
    assert (backend.job(job)["status"], backend.job(job)["verdict"]) == ("cancelled", None)


# ── Which checkpoint is offered ─────────────────────────────────────────────────────────────────────────────


def marks(backend: Backend, job: str) -> list[tuple[int, bool]]:
    checkpoints = backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    return [(checkpoint["step"], checkpoint["best"]) for checkpoint in checkpoints]


def downloaded(backend: Backend, job: str, **query: Any) -> tuple[int, str]:
    answer = backend.api.get(f"/jobs/{job}/adapter/download", params=query)
    return answer.status_code, answer.headers.get("content-disposition", "")


def test_a_download_of_a_job_is_its_best_checkpoint(tar_backend: Backend) -> None:
    job = finished(tar_backend, 12, 22, 18)
    assert marks(tar_backend, job) == [(4, False), (2, True)]
    assert tar_backend.job(job)["best_step"] == 2
    assert "step-2.tar.gz" in downloaded(tar_backend, job)[1]
    assert "step-4.tar.gz" in downloaded(tar_backend, job, which="final")[1]
    checkpoints = tar_backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    assert [round(checkpoint["held_out_change"]["value"], 3) for checkpoint in checkpoints] == [0.25, 0.417]
    adapter = tar_backend.api.get(f"/adapters/{tar_backend.job(job)['adapter']}").json()
    assert (adapter["step"], adapter["base_reward"]) == (4, 0.5)
    assert (adapter["best"]["step"], adapter["best"]["id"]) == (2, checkpoints[1]["id"])


def test_of_equal_checkpoints_the_latest_is_the_best(tar_backend: Backend) -> None:
    assert marks(tar_backend, finished(tar_backend, 12, 20, 20)) == [(4, True), (2, False)]


@pytest.mark.parametrize("right", [(12, 4, 6), (12, 12, 12)])
def test_none_is_the_best_while_none_is_above_the_base(tar_backend: Backend, right: tuple[int, ...]) -> None:
    job = finished(tar_backend, *right)
    assert marks(tar_backend, job) == [(4, False), (2, False)]
    assert tar_backend.job(job)["best_step"] is None
    refused = tar_backend.api.get(f"/jobs/{job}/adapter/download")
    assert refused.status_code == 409
    error = refused.json()["error"]
    assert error["code"] == "no_better_checkpoint"
    reached = f"{right[-1] / ROWS:.2f}"
    assert error["message"] == f"No checkpoint is better than the base (0.50): step 4 reached {reached}."
    assert downloaded(tar_backend, job, which="final")[0] == 200
    adapter = tar_backend.api.get(f"/adapters/{tar_backend.job(job)['adapter']}").json()
    assert (adapter["best"], adapter["base_reward"]) == (None, 0.5)


def test_a_job_that_has_not_succeeded_has_no_adapter_to_download(backend: Backend) -> None:
    with backend.rpc_worker():
        job = backend.create_job()
    refused = backend.api.get(f"/jobs/{job}/adapter/download")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "no_adapter")


@pytest.fixture
def tar_backend(backend: Backend, monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Checkpoints of its trainers are archives, as a download needs them."""

    def checkpoint(trainer: Trainer, step: int, reward: float | None = None, final: bool = False) -> None:
        save(trainer, step, f"after {step}".encode(), reward, final)

    monkeypatch.setattr(Trainer, "checkpoint", checkpoint)
    return backend
