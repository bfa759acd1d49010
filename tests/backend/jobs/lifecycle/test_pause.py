"""Pausing on request: at once before the first step, else through two commands and bounded in time; a resumed job is
not paused again."""

import asyncio

import pytest

from backend.data.database import Database
from backend.jobs.lifecycle.leases import stop_overdue
from tests.backend.server import Backend, Trainer


def running(backend: Backend) -> tuple[str, Trainer]:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    return job, trainer


def end_overdue(backend: Backend) -> list[str]:
    async def once() -> list[str]:
        database = Database(backend.database_url, pool_size=1)
        try:
            return await stop_overdue(database)
        finally:
            await database.close()

    return asyncio.run(once())


def date_back_requests(backend: Backend, job: str, seconds: int) -> None:
    backend.sql(f"UPDATE job_command SET created_at = now() - interval '{seconds} s' WHERE job_id = %s", job)


def lose_lease(backend: Backend, job: str) -> None:
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
    backend.sweep()


def pause(backend: Backend, job: str) -> str:
    response = backend.api.post(f"/jobs/{job}/pause")
    assert response.status_code == 200, response.text
    return str(response.json()["status"])


def test_a_job_that_waits_pauses_at_once_and_goes_on(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    assert pause(rpc_backend, job) == "paused"
    assert (
        rpc_backend.worker_api.post("/jobs/claim", json={"worker": "wrk_test", "job": job}).status_code == 204
    )
    assert rpc_backend.api.post(f"/jobs/{job}/resume").json()["status"] == "queued"
    assert rpc_backend.claim(job).claimed["resume_step"] == 0


def test_a_pause_sends_a_running_job_a_checkpoint_and_a_stop_command(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start()
    trainer.step(1)
    assert pause(rpc_backend, job) == "pausing"
    commands = trainer.heartbeat().json()["commands"]
    assert [command["kind"] for command in commands] == ["checkpoint", "pause"]
    trainer.checkpoint(1)
    trainer.resume_state(1)
    trainer.end("paused", reason="pause_requested")
    view = rpc_backend.job(job)
    assert (view["status"], view["reason"], view["error"]) == ("paused", "pause_requested", None)


def test_a_resumed_job_does_not_hear_the_old_command(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start()
    pause(rpc_backend, job)
    trainer.end("paused", reason="pause_requested")  # and never says which commands it has applied
    rpc_backend.api.post(f"/jobs/{job}/resume")
    again = rpc_backend.claim(job)
    assert again.heartbeat().json()["commands"] == []


def test_a_requested_checkpoint_that_a_pause_did_not_make_goes_to_the_next_attempt(
    rpc_backend: Backend,
) -> None:
    job, trainer = running(rpc_backend)
    checkpoint = rpc_backend.api.post(f"/jobs/{job}/checkpoint").json()["id"]
    pause(rpc_backend, job)
    trainer.end("paused", reason="pause_requested")  # and never says which commands it has applied
    rpc_backend.api.post(f"/jobs/{job}/resume")
    again = rpc_backend.claim(job)
    assert [(command["id"], command["kind"]) for command in again.heartbeat().json()["commands"]] == [
        (checkpoint, "checkpoint")
    ]


def test_a_job_that_is_loading_pauses_at_once_and_its_worker_has_lost_it(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    assert pause(rpc_backend, job) == "paused"
    assert trainer.heartbeat().json()["error"]["code"] == "lease_lost"
    late = trainer.post(trainer.number({"kind": "started", "step": 0, "steps": 3}))
    assert late.json()["error"]["code"] == "lease_lost"
    assert rpc_backend.job(job)["status"] == "paused"


def test_pausing_twice_is_pausing_once(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    assert [pause(rpc_backend, job) for _ in range(3)] == ["pausing"] * 3
    assert len(trainer.heartbeat().json()["commands"]) == 2
    trainer.end("paused", reason="pause_requested")
    seq = rpc_backend.sql("SELECT seq FROM job WHERE id = %s", job)
    assert pause(rpc_backend, job) == "paused"
    assert rpc_backend.sql("SELECT seq FROM job WHERE id = %s", job) == seq


@pytest.mark.parametrize("state", ["cancelling", "cancelled", "succeeded"])
def test_other_jobs_are_not_paused(rpc_backend: Backend, state: str) -> None:
    job, trainer = running(rpc_backend)
    if state == "succeeded":
        trainer.checkpoint(3, final=True)
        trainer.end("succeeded", step=3)
    else:
        rpc_backend.api.post(f"/jobs/{job}/cancel")
    if state == "cancelled":
        trainer.end("cancelled")
    assert rpc_backend.job(job)["status"] == state
    refused = rpc_backend.api.post(f"/jobs/{job}/pause")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "job_not_pausable")
    assert refused.headers["x-should-retry"] == "false"


def test_a_job_that_pauses_is_resumed_once_it_has_paused(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    pause(rpc_backend, job)
    refused = rpc_backend.api.post(f"/jobs/{job}/resume")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "job_not_paused")
    trainer.end("paused", reason="pause_requested")
    assert rpc_backend.api.post(f"/jobs/{job}/resume").json()["status"] == "queued"


def test_a_worker_that_is_lost_while_the_job_pauses_leaves_it_paused(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    trainer.step(1)
    trainer.resume_state(1)
    pause(rpc_backend, job)
    lose_lease(rpc_backend, job)
    view = rpc_backend.job(job)
    assert (view["status"], view["reason"]) == ("paused", "pause_requested")
    rpc_backend.api.post(f"/jobs/{job}/resume")
    again = rpc_backend.claim(job)
    assert (again.claimed["resume_step"], again.heartbeat().json()["commands"]) == (1, [])


def test_a_trainer_that_does_not_stop_is_ended(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    trainer.step(1)
    trainer.resume_state(1)
    trainer.step(2)
    pause(rpc_backend, job)
    assert job not in end_overdue(rpc_backend)
    date_back_requests(rpc_backend, job, 121)
    assert trainer.heartbeat().status_code == 200  # it is alive, it only does not stop
    assert job in end_overdue(rpc_backend)
    view = rpc_backend.job(job)
    assert (view["status"], view["reason"], view["error"]["code"]) == (
        "paused",
        "pause_requested",
        "pause_overdue",
    )
    assert trainer.heartbeat().json()["error"]["code"] == "lease_lost"
    rpc_backend.api.post(f"/jobs/{job}/resume")
    assert rpc_backend.claim(job).claimed["resume_step"] == 1


def test_slow_steps_have_longer_to_stop(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    trainer.step(1, **{"time/step": 100.0})
    pause(rpc_backend, job)
    date_back_requests(rpc_backend, job, 400)
    assert job not in end_overdue(rpc_backend)
    date_back_requests(rpc_backend, job, 501)
    assert job in end_overdue(rpc_backend)


def test_only_the_newest_pause_counts_for_how_long_it_takes(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    pause(rpc_backend, job)
    trainer.end("paused", reason="pause_requested")
    date_back_requests(rpc_backend, job, 1000)
    rpc_backend.api.post(f"/jobs/{job}/resume")
    rpc_backend.claim(job).start()
    pause(rpc_backend, job)
    assert job not in end_overdue(rpc_backend)


def test_a_trainer_that_does_not_cancel_is_ended(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    rpc_backend.api.post(f"/jobs/{job}/cancel")
    date_back_requests(rpc_backend, job, 121)
    assert job in end_overdue(rpc_backend)
    assert (rpc_backend.job(job)["status"], rpc_backend.job(job)["error"]) == ("cancelled", None)
    assert trainer.heartbeat().status_code == 409


@pytest.mark.parametrize(
    ("outcome", "reason", "status"),
    [
        ("succeeded", None, "succeeded"),
        ("failed", "out_of_memory", "failed"),
        ("paused", "reward_errors", "paused"),
    ],
)
def test_what_happens_first_counts_while_a_job_pauses(
    rpc_backend: Backend, outcome: str, reason: str | None, status: str
) -> None:
    job, trainer = running(rpc_backend)
    pause(rpc_backend, job)
    trainer.checkpoint(3, final=True)
    trainer.end(outcome, reason=reason, message=reason and "It went wrong.")
    view = rpc_backend.job(job)
    assert (view["status"], view["reason"]) == (status, reason)


def test_cancelling_wins_over_pausing(rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend)
    pause(rpc_backend, job)
    assert rpc_backend.api.post(f"/jobs/{job}/cancel").json()["status"] == "cancelling"
    assert [command["kind"] for command in trainer.heartbeat().json()["commands"]] == [
        "checkpoint",
        "pause",
        "cancel",
    ]
    trainer.end("paused", reason="pause_requested")  # it had heard of the pause alone
    assert rpc_backend.job(job)["status"] == "cancelled"


def test_a_viewer_pauses_nothing(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    assert rpc_backend.add_key("viewer").post(f"/jobs/{job}/pause").status_code == 403
    assert rpc_backend.job(job)["status"] == "queued"
