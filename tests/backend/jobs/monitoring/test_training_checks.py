"""The training check over stored series: its endpoint, its findings, its events and its webhook."""

import json
from typing import Any

import pytest

from backend.jobs.monitoring.training_checks import is_due
from tests.backend.server import Backend, Trainer

SOUND = {"reward/std": 0.4, "completions/truncated_share": 0.01, "groups/zero_variance_share": 0.1}


@pytest.fixture
def trainer(backend: Backend) -> Trainer:
    with backend.rpc_worker():
        job = backend.create_job(limits={"steps": 20})
    trainer = backend.claim(job)
    trainer.start(0, 20)
    return trainer


def train(trainer: Trainer, *steps: int, **values: float) -> None:
    """Steps whose reward rises by 0.03 each."""
    for step in steps:
        trainer.step(step, **{"reward/mean": 0.2 + 0.03 * step, **SOUND, **values})


def id_of(trainer: Trainer) -> str:
    return str(trainer.claimed["job"])


def check(backend: Backend, trainer: Trainer) -> dict[str, Any]:
    response = backend.api.get(f"/jobs/{id_of(trainer)}/training-check")
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def findings(backend: Backend, trainer: Trainer) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = backend.api.get(f"/jobs/{id_of(trainer)}/findings").json()["data"]
    return rows


def events(backend: Backend, trainer: Trainer) -> list[dict[str, Any]]:
    """Data of the job's `finding` events."""
    page = backend.api.get(f"/jobs/{id_of(trainer)}/events", params={"limit": 1000}).json()["data"]
    return [event["data"] for event in page if event["type"] == "finding"]


def test_the_check_is_computed_from_the_stored_series(backend: Backend, trainer: Trainer) -> None:
    assert check(backend, trainer)["state"] == "nothing"
    train(trainer, *range(1, 4))
    assert check(backend, trainer)["state"] == "early"
    train(trainer, *range(4, 21))
    answer = check(backend, trainer)
    assert (answer["object"], answer["job"], answer["step"]) == ("training_check", id_of(trainer), 20)
    assert answer["state"] == "unsure"
    assert answer["message"] == (
        "Cannot tell: training reward rose from 0.24 to 0.79, but there are no held-out rows to confirm it."
    )
    assert answer["summary"]["title"] == "No problems found"
    assert [item["code"] for item in answer["observations"]] == ["loss"]
    assert findings(backend, trainer) == []


def test_evaluations_answer_it(backend: Backend, trainer: Trainer) -> None:
    for step, reward in ((0, 0.3), (10, 0.5), (20, 0.8)):
        train(trainer, *range(max(1, step - 9), step + 1))
        values = {"held_out/reward_mean": reward, "held_out/reward_std_error": 0.02}
        trainer.send({"kind": "evaluated", "step": step, "values": values, "rows": 20, "samples_per_row": 1})
    answer = check(backend, trainer)
    assert (answer["state"], answer["message"]) == ("yes", "Yes: held-out reward rose from 0.30 to 0.80.")
    assert [item["code"] for item in answer["observations"]] == ["held-out", "loss"]


def test_a_problem_is_one_finding_until_it_is_resolved(backend: Backend, trainer: Trainer) -> None:
    train(trainer, *range(1, 6))
    train(trainer, *range(6, 11), **{"completions/truncated_share": 0.6})
    [finding] = findings(backend, trainer)
    assert (finding["code"], finding["severity"], finding["source"]) == (
        "truncated",
        "warning",
        "training_check",
    )
    assert finding["noticed_step"] == 7  # the mean of five steps passes 20% there
    assert finding["message"] == "60% of completions hit the token limit."
    assert finding["title"] == "Truncated completions"
    assert "max_completion_tokens" in finding["hint"]
    assert (finding["step"], finding["resolved_step"]) == (6, None)
    assert [event["step"] for event in events(backend, trainer)] == [7]

    train(trainer, *range(11, 16))
    [finding] = findings(backend, trainer)
    assert finding["resolved_step"] == 14
    assert check(backend, trainer)["summary"]["title"] == "No problems found"
    resolved = events(backend, trainer)[1:]
    assert [(event["severity"], event["message"]) for event in resolved] == [
        ("info", "Resolved: Truncated completions.")
    ]

    train(trainer, *range(16, 20), **{"completions/truncated_share": 0.9})
    [finding] = findings(backend, trainer)
    assert (finding["noticed_step"], finding["resolved_step"]) == (17, None)
    assert [event["step"] for event in events(backend, trainer)] == [7, 14, 17]


def test_steps_sent_again_in_one_batch_add_nothing_twice(backend: Backend, trainer: Trainer) -> None:
    step = {"kind": "step_metrics", "values": {"reward/mean": 0.5, "completions/truncated_share": 0.5}}
    trainer.send(*[step | {"step": number} for number in range(1, 11)])
    trainer.send(*[step | {"step": number} for number in range(11, 21)])
    assert [row["code"] for row in findings(backend, trainer)] == ["truncated"]
    assert len(events(backend, trainer)) == 1


def test_a_resume_from_an_earlier_step_takes_later_findings_back(backend: Backend, trainer: Trainer) -> None:
    train(trainer, *range(1, 6))
    trainer.resume_state(5)
    train(trainer, *range(6, 11), **{"completions/truncated_share": 0.6})
    assert len(findings(backend, trainer)) == 1
    backend.sql("UPDATE job SET lease_until = now() - interval '1 hour' WHERE id = %s", id_of(trainer))
    backend.sweep()
    backend.claim(id_of(trainer), worker="wrk_test")
    assert findings(backend, trainer) == []


def test_a_finding_of_the_trainer_keeps_its_own_source(backend: Backend, trainer: Trainer) -> None:
    record = {"kind": "finding", "code": "slow", "severity": "info", "step": 1, "message": "slow"}
    trainer.send(record)
    [finding] = findings(backend, trainer)
    assert (finding["source"], finding["resolved_step"]) == ("trainer", None)


def test_the_check_of_an_ended_job_has_the_message_of_its_verdict(backend: Backend, trainer: Trainer) -> None:
    train(trainer, *range(1, 21), **{"completions/truncated_share": 1.0})
    trainer.checkpoint(20, 1.0, final=True)
    trainer.end("succeeded")
    job, answer = backend.job(id_of(trainer)), check(backend, trainer)
    assert answer["verdict"] == job["verdict"] == "unknown"
    assert answer["message"] == job["verdict_detail"]["message"]
    last = backend.api.get(f"/jobs/{id_of(trainer)}/events", params={"limit": 1000}).json()["data"][-1]
    assert last["type"] == "status"  # findings come before the end


def test_the_webhook_hears_of_a_problem_once(backend: Backend, trainer: Trainer) -> None:
    hook = {"url": "http://example.com/hook", "events": ["fine_tuning.job.finding"]}
    backend.sql(
        "INSERT INTO webhook (id, project_id, url, events, secret_sealed, enabled, created_by, created_at, updated_at)"
        " SELECT 'wh_check', project_id, %s, %s, 'x', true, 'test', now(), now() FROM job WHERE id = %s",
        hook["url"],
        json.dumps(hook["events"]),
        id_of(trainer),
    )
    for cut in (0.6, 0.0, 0.6):
        start = 1 + int(backend.job(id_of(trainer))["progress"]["step"])
        train(trainer, *range(start, start + 6), **{"completions/truncated_share": cut})
    slow = {"kind": "finding", "code": "slow", "severity": "info", "step": 18, "message": "slow"}
    trainer.send(slow)
    trainer.send(slow)
    bodies = [
        json.loads(body) for (body,) in backend.sql("SELECT body FROM webhook_delivery ORDER BY created_at")
    ]
    assert [body["type"] for body in bodies] == ["fine_tuning.job.finding"] * 2
    first, second = (body["data"] for body in bodies)
    assert (first["id"], first["status"], first["code"]) == (id_of(trainer), "running", "truncated")
    assert (first["severity"], first["step"]) == ("error", 1)
    assert first["message"].startswith("Truncated completions: 60%")
    assert "max_completion_tokens" in first["hint"]
    assert second["code"] == "slow"


def test_a_long_job_is_checked_at_a_bounded_rate() -> None:
    checks = sum(is_due(step - 1, step) for step in range(1, 100_001))
    assert all(is_due(step - 1, step) for step in range(1, 101))
    assert 300 < checks < 1000
    assert not is_due(7, 7)


def test_the_cause_comes_first_with_a_remedy_and_names_the_job_in_lists(
    backend: Backend, trainer: Trainer
) -> None:
    rate = {"optimizer/learning_rate": 0.02, "reward/std": 0.4}
    for step in range(1, 11):
        fine = step < 5
        reward = {"reward/mean": 0.45 if fine else 0.0, "entropy/mean": 0.3 if fine else 2.0}
        trainer.step(step, **reward, **rate, **{"completions/truncated_share": 0.02 if fine else 1.0})
        if step == 3:
            trainer.resume_state(3)
    first, second = findings(backend, trainer)[:2]
    assert (first["code"], first["cause"], first["step"]) == ("learning_rate_too_high", None, 5)
    assert first["noticed_step"] >= 5 and first["why"]
    assert {chart["metric"] for chart in first["evidence"]["charts"]} >= {"reward/mean", "entropy/mean"}
    [fork] = first["remedies"]
    assert (fork["kind"], fork["step"], list(fork["set"])) == ("fork", 3, ["optimizer.learning_rate"])
    assert (second["cause"], second["remedies"]) == ("learning_rate_too_high", [])
    jobs = backend.api.get("/jobs").json()["data"]
    listed = next(job for job in jobs if job["id"] == id_of(trainer))
    assert listed["finding"] == {
        "code": "learning_rate_too_high",
        "severity": "error",
        "title": "Learning rate is too high",
        "step": 5,
    }
    assert backend.job(id_of(trainer))["finding"] == listed["finding"]
