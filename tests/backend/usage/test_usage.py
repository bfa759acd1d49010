"""Usage by day and source, and the effect of budgets on jobs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.backend.jobs.monitoring.test_completions import row, send
from tests.backend.people import made, refusal
from tests.backend.server import OWNER_KEY, Backend, Trainer
from tests.backend.usage.counted import of, usage


def waited(backend: Backend, trainer: Trainer, seconds: float) -> None:
    """As if the attempt had last been counted so long ago."""
    backend.sql(
        "UPDATE attempt SET counted_at = now() - make_interval(secs => %s), claimed_at = claimed_at - interval '1 day'"
        " WHERE job_id = %s",
        seconds,
        trainer.claimed["job"],
    )


@pytest.fixture
def job(rpc_backend: Backend) -> Trainer:
    trainer = rpc_backend.claim(rpc_backend.create_job())
    trainer.start()
    return trainer


def test_tokens_are_counted_once_whatever_is_sent_again(rpc_backend: Backend, job: Trainer) -> None:
    rows = [row(prompt, sample) for prompt in range(2) for sample in range(3)]
    send(job, 1, "train", rows)
    step = {"kind": "step_metrics", "step": 1, "values": {"tokens/trained": 20.0, "judge/cost": 0.25}}
    again = job.number(step)
    for _ in range(2):
        assert job.post(again).status_code == 200
    job.send(step | {"step": 2, "values": {"tokens/trained": 50.0, "judge/cost": 0.75}})
    amounts = of(rpc_backend, job.claimed["job"])
    assert amounts["sampled_tokens"] == sum(row["length"] for row in rows)
    assert amounts["trained_tokens"] == 50.0
    assert amounts["judge_spend"] == 0.75


def test_steps_that_a_resume_repeats_count_again(rpc_backend: Backend, job: Trainer) -> None:
    name = job.claimed["job"]
    job.send({"kind": "step_metrics", "step": 1, "values": {"tokens/trained": 10.0}})
    job.resume_state(1)
    job.send({"kind": "step_metrics", "step": 2, "values": {"tokens/trained": 25.0}})
    job.end("paused", reason="storage_full", message="full")
    rpc_backend.api.post(f"/jobs/{name}/resume")
    again = rpc_backend.claim(name)
    again.start(step=1)
    again.send({"kind": "step_metrics", "step": 2, "values": {"tokens/trained": 25.0}})
    assert of(rpc_backend, name)["trained_tokens"] == 10 + 15 + 15


def test_device_time_runs_while_a_worker_holds_the_job(rpc_backend: Backend, job: Trainer) -> None:
    waited(rpc_backend, job, 12)
    assert job.heartbeat().status_code == 200
    first = of(rpc_backend, job.claimed["job"])["device_seconds"]
    assert 12 <= first < 15
    waited(rpc_backend, job, 3600)
    job.heartbeat()
    second = of(rpc_backend, job.claimed["job"])["device_seconds"]
    assert second - first == pytest.approx(30, abs=1), "beyond a lease nobody knows what happened"
    waited(rpc_backend, job, 5)
    job.end("cancelled")
    assert of(rpc_backend, job.claimed["job"])["device_seconds"] - second == pytest.approx(5, abs=1)


def test_every_device_of_a_job_counts(rpc_backend: Backend) -> None:
    trainer = rpc_backend.claim(rpc_backend.create_job())
    trainer.send({"kind": "started", "step": 0, "steps": 3, "facts": {"devices": 4}})
    waited(rpc_backend, trainer, 10)
    trainer.heartbeat()
    assert of(rpc_backend, trainer.claimed["job"])["device_seconds"] == pytest.approx(40, abs=4)


def test_days_are_apart_and_those_without_use_are_there(rpc_backend: Backend, job: Trainer) -> None:
    job.send({"kind": "step_metrics", "step": 1, "values": {"tokens/trained": 7.0}})
    rpc_backend.sql("UPDATE usage SET day = day - 3 WHERE source = %s", job.claimed["job"])
    report = usage(rpc_backend, days=5)
    today = datetime.now(UTC).date()
    assert [day["day"] for day in report["days"]] == [str(today - timedelta(days=n)) for n in (4, 3, 2, 1, 0)]
    assert report["days"][1]["amounts"]["trained_tokens"] == 7.0
    assert report["days"][2]["amounts"] == {}
    assert [source_row["source"] for source_row in usage(rpc_backend, days=2)["sources"]].count(
        job.claimed["job"]
    ) == 0


def test_what_is_stored_counts_each_object_once(rpc_backend: Backend) -> None:
    before = usage(rpc_backend)["totals"]["storage_bytes"]
    rows = [{"prompt": "stored " * 40, "answer": "x"}]
    rpc_backend.add_dataset(rows)
    once = usage(rpc_backend)["totals"]["storage_bytes"]
    rpc_backend.add_dataset(rows)
    assert once > before
    assert usage(rpc_backend)["totals"]["storage_bytes"] == once


def test_a_storage_budget_refuses_files_whichever_way_they_come(rpc_backend: Backend, budget: Any) -> None:
    stored = usage(rpc_backend)["totals"]["storage_bytes"]
    budget("storage_bytes", stored + 2000, "total")
    small, large = b'{"prompt": "1"}\n', b'{"prompt": "1"}\n' * 200
    made(rpc_backend.api.post("/datasets", files={"file": ("small.jsonl", small)}))
    before = rpc_backend.sql("SELECT count(*) FROM dataset")
    announced = {"filename": "large.jsonl", "bytes": len(large)}
    with rpc_backend.client(OWNER_KEY, "/v1") as wire:
        tune = {"purpose": "fine-tune"}
        answers = [
            rpc_backend.api.post("/datasets", files={"file": ("large.jsonl", large)}),
            rpc_backend.api.post("/uploads", json=announced),
            wire.post("/files", data=tune, files={"file": ("large.jsonl", large)}),
            wire.post("/uploads", json=announced | tune | {"mime_type": "application/jsonl"}),
        ]
    assert [refusal(answer) for answer in answers] == [(409, "budget_exceeded")] * 4
    assert rpc_backend.sql("SELECT count(*) FROM dataset") == before
    budget("storage_bytes", 1e9, "total")
    made(rpc_backend.api.post("/datasets", files={"file": ("large.jsonl", large)}))


def test_a_used_up_budget_pauses_what_runs_and_refuses_what_is_new(
    rpc_backend: Backend, job: Trainer, budget: Any
) -> None:
    name = job.claimed["job"]
    job.send({"kind": "step_metrics", "step": 1, "values": {"tokens/trained": 100.0}})
    assert job.heartbeat().json()["commands"] == []
    queued = rpc_backend.create_job()
    assert budget("trained_tokens", 50)["exhausted"] is True
    kinds = [command["kind"] for command in job.heartbeat().json()["commands"]]
    assert "pause" in kinds
    assert rpc_backend.job(name)["reason"] == "budget"
    job.end("paused", reason="pause_requested")
    paused = rpc_backend.job(name)
    assert (paused["status"], paused["reason"]) == ("paused", "budget")
    assert "50" in paused["error"]["message"]
    assert "Settings" in paused["error"]["hint"]
    assert "reinforge budget set " in paused["error"]["hint"]

    assert rpc_backend.worker_api.post("/jobs/claim", json={"worker": "w", "job": queued}).status_code == 204
    assert (rpc_backend.job(queued)["status"], rpc_backend.job(queued)["reason"]) == ("paused", "budget")
    new = rpc_backend.api.post("/jobs", json=rpc_backend.spec())
    assert refusal(new) == (409, "budget_exceeded")
    assert new.headers["x-should-retry"] == "false"
    assert refusal(rpc_backend.api.post(f"/jobs/{name}/resume")) == (409, "budget_exceeded")

    budget("trained_tokens", 1e9)
    assert rpc_backend.api.post(f"/jobs/{name}/resume").json()["status"] == "queued"
    assert rpc_backend.claim(name).claimed["job"] == name


def test_a_daily_budget_is_there_again_the_next_day(rpc_backend: Backend, job: Trainer, budget: Any) -> None:
    job.send({"kind": "step_metrics", "step": 1, "values": {"tokens/trained": 9.0}})
    assert budget("trained_tokens", 5, "day")["exhausted"] is True
    rpc_backend.sql("UPDATE usage SET day = day - 1")
    [daily] = usage(rpc_backend)["budgets"]
    assert (daily["used"], daily["exhausted"]) == (0, False)
    assert budget("trained_tokens", 5, "total")["exhausted"] is True


def test_budgets_are_set_and_removed_by_owners(rpc_backend: Backend, budget: Any) -> None:
    budget("judge_spend", 5)
    with rpc_backend.add_key("editor") as editor:
        body = {"kind": "judge_spend", "amount": 50}
        assert refusal(editor.put("/budgets", json=body)) == (403, "not_owner")
        assert refusal(editor.delete("/budgets/judge_spend/month")) == (403, "not_owner")
        assert editor.get("/usage").json()["budgets"][0]["amount"] == 5
    assert rpc_backend.api.delete("/budgets/judge_spend/month").status_code == 204
    assert refusal(rpc_backend.api.delete("/budgets/judge_spend/month")) == (404, "budget_not_found")
    wrong = rpc_backend.api.put("/budgets", json={"kind": "storage_bytes", "amount": 1, "period": "day"})
    assert (wrong.status_code, wrong.json()["error"]["param"]) == (422, "period")


def test_a_budget_of_serving_leaves_jobs_alone(rpc_backend: Backend, job: Trainer, budget: Any) -> None:
    budget("served_output_tokens", 0)
    assert job.heartbeat().json()["commands"] == []
    assert rpc_backend.api.post("/jobs", json=rpc_backend.spec()).status_code == 201


def test_what_used_it_has_a_name_and_the_largest_share_of_anything_comes_first(
    rpc_backend: Backend, job: Trainer
) -> None:
    """However many jobs there are, whatever took most of the tokens that were served is not behind them."""
    rpc_backend.sql("DELETE FROM usage")
    project = rpc_backend.api.get("/me").json()["project"]

    def used(source: str, kind: str, amount: float) -> None:
        rpc_backend.sql(
            "INSERT INTO usage VALUES (%s, now()::date, %s, %s, %s)", project, kind, source, amount
        )

    for number in range(30):
        used(f"ftjob-{number}", "device_seconds", 100 + number)
    rpc_backend.sql(
        "INSERT INTO deployment (id, project_id, name, model_id, model_key, state, created_at, updated_at, requests,"
        " failed_requests, prompt_tokens, completion_tokens)"
        " SELECT 'dep_1', %s, 'support', id, key, 'ready', now(), now(), 0, 0, 0, 0"
        " FROM base_model WHERE id = 'tiny' LIMIT 1",
        project,
    )
    used("dep_1", "device_seconds", 1)
    used("dep_1", "served_output_tokens", 90)
    used("tiny", "served_output_tokens", 10)
    used(job.claimed["job"], "device_seconds", 5000)
    sources = usage(rpc_backend)["sources"]
    assert [(source_row["source"], source_row["name"]) for source_row in sources[:2]] == [
        ("dep_1", "support"),
        (job.claimed["job"], rpc_backend.job(job.claimed["job"])["name"]),
    ]
    assert sources[0]["amounts"] == {"device_seconds": 1, "served_output_tokens": 90}
    assert (sources[2]["source"], sources[2]["name"], len(sources)) == ("tiny", None, 20)
