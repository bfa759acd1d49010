"""Named ends of jobs: code, message and hint are returned, and the job resumes once the cause is fixed."""

from typing import Any

import pytest

from tests.backend.server import Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")

FIXABLE = (
    "reward_errors",
    "gradient_not_finite",
    "out_of_memory",
    "disk_full",
    "storage_full",
    "storage_unavailable",
    "sandbox_unavailable",
    "judge_unavailable",
    "endpoint_unavailable",
)
FINAL = ("vllm_lost", "vllm_start_failed", "model_load_failed", "trainer_failed", "stalled")
ERROR_FIELDS = {"message": "It went wrong.", "hint": "Do this.", "traceback": "The last words."}


def trained(backend: Backend) -> tuple[str, Trainer]:
    """A job that runs, with a resume state of step 2."""
    job = backend.create_job(limits={"steps": 4})
    trainer = backend.claim(job)
    trainer.start(0, 4)
    for step in (1, 2):
        trainer.step(step)
    trainer.resume_state(2)
    trainer.step(3)
    return job, trainer


def finish(backend: Backend, job: str) -> None:
    """Another attempt goes on from step 2 to the end."""
    trainer = backend.claim(job)
    assert trainer.claimed["resume_step"] == 2
    trainer.start(2, 4)
    for step in (3, 4):
        trainer.step(step)
    trainer.checkpoint(4, final=True)
    trainer.end("succeeded", step=4)
    view = backend.job(job)
    assert (view["status"], view["reason"], view["error"]) == ("succeeded", None, None)
    steps: list[list[int]] = [
        series["steps"]
        for series in backend.api.get(f"/jobs/{job}/metrics").json()["series"]
        if series["key"] == "reward/mean"
    ]
    assert steps[0][-2:] == [3, 4]


@pytest.mark.parametrize("reason", FIXABLE)
def test_a_fixable_error_pauses_the_job_and_it_can_resume(backend: Backend, reason: str) -> None:
    job, trainer = trained(backend)
    trainer.end("paused", reason=reason, step=3, **ERROR_FIELDS)
    view = backend.job(job)
    assert (view["status"], view["reason"]) == ("paused", reason)
    assert view["error"] == {"code": reason, **ERROR_FIELDS}
    resumed = backend.api.post(f"/jobs/{job}/resume").json()
    assert (resumed["status"], resumed["reason"], resumed["error"]) == ("queued", None, None)
    finish(backend, job)


def end_for_good(backend: Backend, job: str, trainer: Trainer, reason: str) -> dict[str, Any]:
    for _ in range(5):  # what may be chance is tried again before it is the end
        if backend.job(job)["status"] == "failed":
            break
        trainer = trainer if backend.job(job)["status"] == "running" else backend.claim(job)
        trainer.end("failed", reason=reason, step=3, **ERROR_FIELDS)
    view: dict[str, Any] = backend.job(job)
    return view


@pytest.mark.parametrize("reason", FINAL)
def test_what_needs_another_specification_fails_and_a_fork_goes_on(backend: Backend, reason: str) -> None:
    job, trainer = trained(backend)
    view = end_for_good(backend, job, trainer, reason)
    assert (view["status"], view["reason"]) == ("failed", reason)
    assert view["error"] == {"code": reason, **ERROR_FIELDS}
    refused = backend.api.post(f"/jobs/{job}/resume")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "job_not_paused")
    _fork_and_finish(backend, job)


def test_a_job_whose_workers_were_lost_goes_on_as_a_fork(backend: Backend) -> None:
    job, _ = trained(backend)
    for attempt in range(5):
        if attempt:
            assert backend.claim(job).claimed["resume_step"] == 2
        backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
        backend.sweep()
    view = backend.job(job)
    assert (view["status"], view["error"]["code"]) == ("failed", "worker_lost")
    assert view["error"]["hint"] and "5 times" in view["error"]["message"]
    _fork_and_finish(backend, job)


def _fork_and_finish(backend: Backend, job: str) -> None:
    body = {"set": {"rollout.max_completion_tokens": 8}}
    made = backend.api.post(f"/jobs/{job}/fork", json=body).json()
    assert (made["forked_from"]["step"], made["resolved_spec"]["rollout"]["max_completion_tokens"]) == (2, 8)
    assert "optimizer" in made["forked_from"]["carried"]
    finish(backend, made["id"])
