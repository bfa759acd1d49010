"""Pausing on request: at once without a worker, else through two commands; a resumed job is not paused again."""

import pytest

from tests.backend.server import Backend


def pause(backend: Backend, job: str) -> str:
    response = backend.api.post(f"/jobs/{job}/pause")
    assert response.status_code == 200, response.text
    return str(response.json()["status"])


def test_a_job_that_waits_pauses_at_once_and_goes_on(open_lane: Backend) -> None:
    job = open_lane.create_job()
    assert pause(open_lane, job) == "paused"
    assert open_lane.door.post("/jobs/claim", json={"worker": "wrk_test", "job": job}).status_code == 204
    assert open_lane.api.post(f"/jobs/{job}/resume").json()["status"] == "queued"
    assert open_lane.claim(job).claimed["resume_step"] == 0


def test_a_running_job_is_asked_for_a_checkpoint_and_to_stop(open_lane: Backend) -> None:
    job = open_lane.create_job()
    trainer = open_lane.claim(job)
    trainer.start()
    trainer.step(1)
    assert pause(open_lane, job) == "pausing"
    commands = trainer.heartbeat().json()["commands"]
    assert [each["kind"] for each in commands] == ["checkpoint", "pause"]
    trainer.checkpoint(1)
    trainer.resume_state(1)
    trainer.end("paused", reason="pause_requested")
    found = open_lane.job(job)
    assert (found["status"], found["reason"], found["error"]) == ("paused", "pause_requested", None)


def test_a_resumed_job_does_not_hear_the_old_command(open_lane: Backend) -> None:
    job = open_lane.create_job()
    trainer = open_lane.claim(job)
    trainer.start()
    pause(open_lane, job)
    trainer.end("paused", reason="pause_requested")  # and never says which commands it has applied
    open_lane.api.post(f"/jobs/{job}/resume")
    again = open_lane.claim(job)
    assert again.heartbeat().json()["commands"] == []


def test_a_job_that_is_loading_pauses_when_it_can(open_lane: Backend) -> None:
    job = open_lane.create_job()
    trainer = open_lane.claim(job)
    assert pause(open_lane, job) == "pausing"
    trainer.start()
    assert open_lane.job(job)["status"] == "pausing"
    trainer.end("paused", reason="pause_requested")
    assert open_lane.job(job)["status"] == "paused"


@pytest.mark.parametrize("state", ["paused", "pausing", "cancelled"])
def test_other_jobs_are_not_paused(open_lane: Backend, state: str) -> None:
    job = open_lane.create_job()
    if state == "pausing":
        open_lane.claim(job)
    open_lane.api.post(f"/jobs/{job}/{'cancel' if state == 'cancelled' else 'pause'}")
    assert open_lane.job(job)["status"] == state
    refused = open_lane.api.post(f"/jobs/{job}/pause")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "job_not_pausable")
    assert refused.headers["x-should-retry"] == "false"


def test_a_viewer_pauses_nothing(open_lane: Backend) -> None:
    job = open_lane.create_job()
    assert open_lane.add_key("viewer").post(f"/jobs/{job}/pause").status_code == 403
    assert open_lane.job(job)["status"] == "queued"
