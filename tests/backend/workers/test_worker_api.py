"""Claims, fencing, records, heartbeats: a job is never run twice or in part."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.backend.server import Backend, Trainer

pytestmark = pytest.mark.usefixtures("rpc_backend")


LOG = {"kind": "log", "level": "info", "message": "a"}


def test_of_many_claims_exactly_one_wins(backend: Backend) -> None:
    job = backend.create_job()
    body = {"worker": "wrk_test", "job": job}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: backend.worker_api.post("/jobs/claim", json=body), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] + [204] * 7
    assert backend.job(job)["status"] == "starting"
    assert backend.job(job)["attempt"] == 1


def test_without_a_name_the_oldest_queued_job_is_claimed(backend: Backend) -> None:
    while backend.worker_api.post("/jobs/claim", json={"worker": "wrk_test"}).status_code == 200:
        pass  # what other tests left
    first, second = backend.create_job(), backend.create_job()
    assert [backend.claim().claimed["job"] for _ in range(2)] == [first, second]
    assert backend.worker_api.post("/jobs/claim", json={"worker": "wrk_test"}).status_code == 204


def test_a_claim_carries_all_that_the_trainer_needs(backend: Backend) -> None:
    job = backend.create_job(seed=7)
    claimed = backend.claim(job).claimed
    assert claimed["spec"] == backend.job(job)["resolved_spec"]
    assert claimed["spec"]["rewards"][0]["entry"] == "grade"
    assert claimed["spec"]["rollout"]["max_prompt_tokens"] == 128 - 16
    assert claimed["model_source"] == "/models/tiny"
    assert claimed["model_sha256"] == "ab" * 32
    assert claimed["rewards"][0]["source"].startswith("def grade")
    assert claimed["rewards"][0]["revision"].startswith("sha256:")
    with backend.client(claimed["job_token"], "/worker/v1") as worker_api:
        content = worker_api.get(f"/blobs/{claimed['dataset']['sha256']}").content
    assert len(content) == claimed["dataset"]["bytes"]
    assert content.count(b"\n") == 20
    assert claimed["resume"] is None


def test_a_job_runs_to_its_adapter(backend: Backend) -> None:
    job = backend.create_job(name="sums")
    trainer = backend.claim(job)
    trainer.send({"kind": "phase", "phase": "loading", "step": 0})
    trainer.start()
    assert backend.job(job)["status"] == "running"
    trainer.evaluate(0, 0.25)
    for step in (1, 2):
        trainer.step(step)
    progress = backend.job(job)["progress"]
    assert (progress["step"], progress["steps"], progress["eta_seconds"]) == (2, 3, 2.0)
    trainer.step(3)
    trainer.evaluate(3, 0.75)
    trainer.checkpoint(3, 0.75, final=True)
    trainer.end("succeeded", step=3)
    done = backend.job(job)
    assert (done["status"], done["held_out_reward_before"], done["held_out_reward"]) == (
        "succeeded",
        0.25,
        0.75,
    )
    assert done["progress"]["percent"] == 100
    assert done["adapter"].startswith("adp_")
    assert done["finished_at"] is not None
    [row] = backend.sql(
        "SELECT name, step, held_out_reward, sha256 FROM adapter WHERE id = %s", done["adapter"]
    )
    assert row[:3] == ("sums", 3, 0.75)
    [checkpoint] = backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    assert (checkpoint["best"], checkpoint["final"], checkpoint["adapter"]) == (True, True, done["adapter"])


def test_records_are_stored_once_however_often_they_are_sent(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    lines = [{"kind": "log", "level": "info", "message": str(n)} for n in range(6)]
    records = trainer.number(*lines)
    assert trainer.post(records[:4]).json() == {"acknowledged": 4}
    assert trainer.post(records[:4]).json() == {"acknowledged": 4}
    assert trainer.post(records[2:]).json() == {"acknowledged": 6}
    stored = backend.api.get(f"/jobs/{job}/logs").json()["data"]
    assert [line["message"] for line in stored] == list("012345")


def test_a_gap_in_the_sequence_stores_nothing(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    records = trainer.number(*[{"kind": "log", "level": "info", "message": str(n)} for n in range(4)])
    trainer.post(records[:1])
    refused = trainer.post([records[1], records[3]])
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == "sequence_gap"
    assert trainer.post(records[2:]).json()["error"]["code"] == "sequence_gap"
    assert len(backend.api.get(f"/jobs/{job}/logs").json()["data"]) == 1
    assert trainer.post(records[1:]).json() == {"acknowledged": 4}


def test_a_record_whose_blob_is_missing_stores_nothing(backend: Backend) -> None:
    trainer = backend.claim(backend.create_job())
    blob = {"sha256": "0" * 64, "bytes": 3}
    records = trainer.number({"kind": "resume_state_saved", "step": 1, "blob": blob})
    refused = trainer.post(records)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "blob_missing")
    assert trainer.heartbeat().status_code == 200


def lose_lease(backend: Backend, trainer: Trainer) -> None:
    """Let the lease run out and have the background notice."""
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", trainer.claimed["job"])
    backend.sweep()


def test_an_expired_lease_queues_the_job_for_the_next_attempt(backend: Backend) -> None:
    job = backend.create_job()
    old = backend.claim(job)
    old.start()
    lose_lease(backend, old)
    queued = backend.job(job)
    assert (queued["status"], queued["reason"], queued["attempt"]) == ("queued", "lease_lost", 1)
    new = backend.claim(job)
    assert new.attempt == 2
    for refused in (
        old.heartbeat(),
        old.post(old.number({"kind": "log", "level": "info", "message": "still here"})),
        old.post(old.number({"kind": "log", "level": "info", "message": "as the new one"}), attempt=2),
    ):
        assert refused.status_code == 409
        assert refused.json()["error"]["code"] == "lease_lost"
        assert refused.headers["x-should-retry"] == "false"
    assert new.heartbeat().status_code == 200
    assert [line["message"] for line in backend.api.get(f"/jobs/{job}/logs").json()["data"]] == []


def test_a_shorter_lease_is_sent_to_the_worker(database_url: str, tmp_path: Path) -> None:
    with Backend(database_url, tmp_path, lease_seconds=6) as backend, backend.rpc_worker():
        trainer = backend.claim(backend.create_job())
        assert trainer.claimed["lease_seconds"] == trainer.heartbeat().json()["lease_seconds"] == 6
        (left,) = backend.sql("SELECT extract(epoch FROM lease_until - now())::float FROM job")[0]
        assert 4 < left <= 6


def test_a_late_heartbeat_keeps_a_lease_that_nobody_has_taken(backend: Backend) -> None:
    trainer = backend.claim(backend.create_job())
    backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", trainer.claimed["job"])
    assert trainer.heartbeat().status_code == 200
    backend.sweep()
    assert backend.job(trainer.claimed["job"])["status"] == "starting"


def test_a_worker_that_dies_again_and_again_fails_the_job(backend: Backend) -> None:
    job = backend.create_job()
    for attempt in range(1, 6):
        assert backend.job(job)["status"] == "queued", attempt
        lose_lease(backend, backend.claim(job))
    failed = backend.job(job)
    assert (failed["status"], failed["reason"], failed["attempt"]) == ("failed", "worker_lost", 5)
    assert failed["error"]["hint"]


def test_progress_forgives_lost_workers(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 100})
    for step in range(1, 8):
        trainer = backend.claim(job)
        trainer.start(step - 1, 100)
        trainer.step(step)
        trainer.resume_state(step)
        lose_lease(backend, trainer)
    assert (backend.job(job)["status"], backend.job(job)["attempt"]) == ("queued", 7)


def test_a_job_whose_workers_are_lost_shows_the_last_lines_of_its_log(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    for number in range(100):
        trainer.send({"kind": "log", "level": "info", "message": f"line {number}"})
    backend.sql("UPDATE job SET lost_attempts = 4 WHERE id = %s", job)
    lose_lease(backend, trainer)
    error = backend.job(job)["error"]
    assert error["code"] == "worker_lost" and error["hint"]
    lines = error["traceback"].splitlines()
    assert (lines[0], lines[-1]) == ("line 40", "line 99")


def test_a_failure_without_a_word_is_still_an_error(backend: Backend) -> None:
    job = backend.create_job()
    backend.claim(job).end("failed")
    failed = backend.job(job)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "trainer_failed")
    assert failed["error"]["message"] and failed["error"]["hint"]


def test_a_resumed_attempt_leaves_one_history(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 9})
    first = backend.claim(job)
    first.start(0, 9)
    first.evaluate(0, 0.1)
    for step in range(1, 6):
        first.step(step)
        if step in (2, 3):
            first.resume_state(step)
        first.evaluate(step, step / 10)
        first.checkpoint(step, step / 10)
        finding = {"code": "slow", "severity": "info", "step": step, "message": "slow"}
        first.send(
            {"kind": "finding", **finding}, {"kind": "log", "level": "info", "message": f"step {step}"}
        )
    before = backend.api.get(f"/jobs/{job}/events", params={"limit": 1000}).json()["data"]
    lose_lease(backend, first)
    second = backend.claim(job)
    assert (second.claimed["resume_step"], second.claimed["resume"]["bytes"] > 0) == (3, True)

    metrics = backend.api.get(f"/jobs/{job}/metrics").json()
    assert {series["key"]: series["steps"] for series in metrics["series"]} == {
        "reward/mean": [1, 2, 3],
        "time/step": [1, 2, 3],
        "held_out/reward_mean": [0, 1, 2, 3],
    }
    checkpoints = backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    assert max(checkpoint["step"] for checkpoint in checkpoints) == 3
    assert {finding["step"] for finding in backend.api.get(f"/jobs/{job}/findings").json()["data"]} == {
        1,
        2,
        3,
    }
    view = backend.job(job)
    assert (view["progress"]["step"], view["best_step"], view["held_out_reward"]) == (3, 3, 0.3)
    assert view["held_out_reward_before"] == 0.1

    events = backend.api.get(f"/jobs/{job}/events", params={"limit": 1000}).json()["data"]
    assert [event["data"] for event in events if event["type"] == "rewind"] == [{"to_step": 3}]
    assert all(
        event["data"].get("step", 0) <= 3 for event in events if event["type"] not in ("log", "status")
    )
    assert [event for event in events if event["type"] == "log"] == [e for e in before if e["type"] == "log"]
    assert metrics["seq"] == events[-1]["seq"] > before[-1]["seq"]
    second.start(3, 9)
    second.step(4)
    assert backend.job(job)["progress"]["step"] == 4


def test_the_three_best_checkpoints_and_the_last_stay(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 10})
    trainer = backend.claim(job)
    trainer.start(0, 10)
    for step, reward in enumerate((0.5, 0.9, 0.7, 0.9, 0.2, 0.6, 0.1), 1):
        trainer.checkpoint(step, reward)
    checkpoints = backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    assert [(checkpoint["step"], checkpoint["best"]) for checkpoint in checkpoints] == [
        (7, False),
        (4, True),
        (3, False),
        (2, False),
    ]
    assert backend.job(job)["best_step"] == 4


def test_an_evaluation_after_the_checkpoint_counts_for_it(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.checkpoint(1)
    trainer.evaluate(1, 0.4)
    [checkpoint] = backend.api.get(f"/jobs/{job}/checkpoints").json()["data"]
    assert (checkpoint["held_out_reward"], checkpoint["best"]) == (0.4, True)


def test_a_figure_of_an_earlier_trainer_is_marked_where_shaping_is_in_it(backend: Backend) -> None:
    own = {"held_out/reward_mean": 0.5, "held_out/right/mean": 0.5}
    for preset, values, marked in (
        ("dapo", {"held_out/reward_mean": 0.5}, True),
        ("dapo", own, False),
        ("grpo", {"held_out/reward_mean": 0.5}, False),
    ):
        job = backend.create_job(algorithm={"preset": preset})
        trainer = backend.claim(job)
        trainer.start()
        trainer.send({"kind": "evaluated", "step": 0, "values": values, "rows": 2, "samples_per_row": 4})
        assert backend.job(job)["held_out_includes_shaping"] is marked
        trainer.end("cancelled", step=0, reason="cancel_requested")


def test_only_the_two_newest_resume_states_stay(backend: Backend) -> None:
    trainer = backend.claim(backend.create_job(limits={"steps": 10}))
    for step in range(1, 6):
        trainer.resume_state(step)
    states = backend.sql("SELECT step FROM resume_state WHERE job_id = %s ORDER BY 1", trainer.claimed["job"])
    assert states == [(4,), (5,)]


@pytest.mark.parametrize(
    ("outcome", "reason", "status"),
    [
        ("failed", "out_of_memory", "failed"),
        ("paused", "reward_errors", "paused"),
        ("cancelled", None, "cancelled"),
    ],
)
def test_an_attempt_ends_as_its_trainer_says(
    backend: Backend, outcome: str, reason: str | None, status: str
) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.end(
        outcome, reason=reason, message=reason and "It went wrong.", hint="Do this.", traceback="Traceback …"
    )
    ended = backend.job(job)
    assert ended["status"] == status
    if reason is not None:
        expected = {
            "code": reason,
            "message": "It went wrong.",
            "hint": "Do this.",
            "traceback": "Traceback …",
        }
        assert (ended["reason"], ended["error"]) == (reason, expected)
    assert trainer.heartbeat().status_code == 409


def test_the_last_batch_may_be_sent_again_after_the_end(backend: Backend) -> None:
    """The answer to it may have been lost on the way."""
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.end("failed", reason="disk_full", message="No space left.")
    again = [{"sequence": 2, "ts": 1.0, "kind": "ended", "outcome": "failed"}]
    assert trainer.post(again).json() == {"acknowledged": 2}
    late = trainer.post(trainer.number({"kind": "log", "level": "info", "message": "late"}))
    assert late.json()["error"]["code"] == "lease_lost"
    assert backend.job(job)["error"]["code"] == "disk_full"


def test_success_without_a_checkpoint_is_a_failure(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    trainer.end("succeeded")
    assert (backend.job(job)["status"], backend.job(job)["reason"]) == ("failed", "no_checkpoint")


def test_numbers_that_are_none_are_not_zero_and_nan_is_refused(backend: Backend) -> None:
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.step(1, **{"kl/mean": None})
    [series] = [s for s in backend.api.get(f"/jobs/{job}/metrics").json()["series"] if s["key"] == "kl/mean"]
    assert series["values"] == [None]
    for number in ("NaN", "Infinity", "-Infinity", "1e999"):
        body = (
            '{"attempt": 1, "records": [{"kind": "step_metrics", "sequence": 2, "ts": 1, "step": 2, '
            f'"values": {{"reward/mean": {number}}}}}]}}'
        )
        refused = trainer.client.post("/records", content=body, headers={"content-type": "application/json"})
        assert refused.status_code == 422, number
        assert refused.json()["error"]["errors"][0]["code"] == "json_invalid"


@pytest.mark.parametrize("step", [2**31, 2**63, -1, 10**400])
def test_a_step_that_no_column_holds_is_refused(backend: Backend, step: int) -> None:
    trainer = backend.claim(backend.create_job())
    trainer.start()
    for record in ({"kind": "step_metrics", "step": step, "values": {}}, LOG | {"step": step}):
        refused = trainer.post([{"sequence": 2, "ts": 1.0, **record}])
        assert refused.status_code == 422, refused.text[:300]


def test_a_completion_may_hold_any_character(backend: Backend) -> None:
    trainer = backend.claim(backend.create_job())
    trainer.send({"kind": "log", "level": "info", "message": "nul \0 and 🐍 and \u2028"})
    [line] = backend.api.get(f"/jobs/{trainer.claimed['job']}/logs").json()["data"]
    assert line["message"] == "nul \ufffd and 🐍 and \u2028"


def test_metrics_equal_what_was_reported(backend: Backend) -> None:
    job = backend.create_job(limits={"steps": 50})
    trainer = backend.claim(job)
    trainer.start(0, 50)
    reported: dict[str, list[tuple[int, float | None]]] = {}
    for step in range(1, 51):
        values = {f"k{n}": (None if (step + n) % 7 == 0 else step / (n + 3)) for n in range(20)}
        trainer.send({"kind": "step_metrics", "step": step, "values": values})
        for key, value in values.items():
            reported.setdefault(key, []).append((step, value))
    got = backend.api.get(f"/jobs/{job}/metrics").json()
    assert {s["key"]: list(zip(s["steps"], s["values"], strict=True)) for s in got["series"]} == reported
