"""Attempts that break off without a word, and resume states that cannot be read: the next attempt goes on."""

import pytest

from tests.backend.server import Backend

pytestmark = pytest.mark.usefixtures("rpc_backend")


@pytest.mark.parametrize("reason", ["killed", "rank_lost", "trainer_crashed"])
def test_a_trainer_that_died_without_a_word_is_followed_by_another(backend: Backend, reason: str) -> None:
    job = backend.create_job(limits={"steps": 9})
    first = backend.claim(job)
    first.start(0, 9)
    for step in range(1, 4):
        first.step(step)
    first.resume_state(2)
    first.end("failed", reason=reason, message="It is gone.", traceback="last words", step=3)
    queued = backend.job(job)
    assert (queued["status"], queued["reason"], queued["error"]) == ("queued", reason, None)
    assert backend.api.get(f"/jobs/{job}/logs").json()["data"][-1]["message"] == "It is gone.\nlast words"
    assert first.heartbeat().status_code == 409
    assert backend.claim(job).claimed["resume_step"] == 2


def test_a_trainer_that_dies_again_and_again_fails_the_job_with_its_own_reason(backend: Backend) -> None:
    job = backend.create_job()
    for attempt in range(1, 6):
        assert backend.job(job)["status"] == "queued", attempt
        backend.claim(job).end("failed", reason="killed", message="It is gone.")
    failed = backend.job(job)
    assert (failed["status"], failed["reason"], failed["error"]["code"]) == ("failed", "killed", "killed")


def test_a_trainer_that_dies_while_it_is_to_stop_leaves_a_job_that_has_stopped(backend: Backend) -> None:
    for action, status in (("pause", "paused"), ("cancel", "cancelled")):
        job = backend.create_job()
        trainer = backend.claim(job)
        trainer.start()
        backend.api.post(f"/jobs/{job}/{action}")
        trainer.end("failed", reason="killed", message="It is gone.")
        assert backend.job(job)["status"] == status


def test_a_resume_state_that_cannot_be_read_gives_way_to_the_one_before(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 9})
    trainer = backend.claim(job)
    trainer.start(0, 9)
    for step in (2, 4):
        trainer.step(step)
        trainer.resume_state(step)
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
    backend.sweep()
    starts = []
    for _ in range(3):
        trainer = backend.claim(job)
        starts.append(trainer.claimed["resume_step"])
        trainer.end("failed", reason="resume_state_invalid", message="It is torn.")
    assert starts == [4, 2, 0]
    # Without one there was nothing that could be unreadable.
    assert (backend.job(job)["status"], backend.job(job)["reason"]) == ("failed", "resume_state_invalid")


def test_an_attempt_from_step_0_leaves_nothing_of_the_one_before(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 9})
    trainer = backend.claim(job)
    for _ in range(2):
        trainer.start(0, 9)
        trainer.evaluate(0, 0.1)
        trainer.step(1)
        trainer.end("failed", reason="killed", message="It is gone.")
        trainer = backend.claim(job)
        assert backend.api.get(f"/jobs/{job}/metrics").json()["series"] == []
    trainer.start(0, 9)
    trainer.evaluate(0, 0.2)
    events = backend.api.get(f"/jobs/{job}/events", params={"limit": 1000}).json()["data"]
    measured = [event["data"] for event in events if event["type"] == "metrics"]
    assert [(point["step"], point["values"]) for point in measured] == [(0, {"held_out/reward_mean": 0.2})]
    assert [event["data"] for event in events if event["type"] == "rewind"] == [{"to_step": 0}] * 2


def test_a_resume_state_that_could_not_be_read_is_stored_again_when_it_is_repeated(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 9})
    trainer = backend.claim(job)
    trainer.start(0, 9)
    trainer.resume_state(2)
    sha256 = backend.sql("SELECT sha256 FROM resume_state WHERE job_id = %s", job)[0][0]
    (path,) = (backend.home / "objects").rglob(sha256)
    whole = path.read_bytes()
    path.write_bytes(whole[:5])
    trainer.end("failed", reason="killed", message="It is gone.")
    backend.claim(job).end("failed", reason="resume_state_invalid", message="It is torn.")
    trainer = backend.claim(job)
    trainer.start(0, 9)
    trainer.resume_state(2)
    assert path.read_bytes() == whole
    assert backend.get_blob(sha256).content == whole


def test_an_object_that_the_store_has_lost_or_torn_is_refused_by_name(backend: Backend) -> None:
    sha256 = backend.add_object(b"a state that will be torn", "resume")
    (path,) = (backend.home / "objects").rglob(sha256)
    path.write_bytes(b"a state")
    torn = backend.get_blob(sha256)
    assert (torn.status_code, torn.json()["error"]["code"]) == (404, "blob_damaged")
    path.unlink()
    gone = backend.get_blob(sha256)
    assert (gone.status_code, gone.json()["error"]["code"]) == (404, "object_not_found")
