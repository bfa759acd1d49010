"""The life of a job as OpenAI's clients see it: states, lists, events, checkpoints."""

from typing import Any

import httpx
import pytest

from tests.backend.openai import schemas
from tests.backend.openai.requests import body, created
from tests.backend.openai.test_files import refused
from tests.backend.server import Backend, Trainer


def job_of(wire: httpx.Client, id: str) -> dict[str, Any]:
    job: dict[str, Any] = schemas.checked(wire.get(f"/fine_tuning/jobs/{id}").json(), schemas.JOB)
    return job


def hyperparameters_of(job: dict[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = job["method"]["reinforcement"]["hyperparameters"]
    return fields


def events_of(wire: httpx.Client, id: str, **query: Any) -> list[dict[str, Any]]:
    answer = wire.get(f"/fine_tuning/jobs/{id}/events", params={"limit": 1000} | query)
    return schemas.listed(answer.json(), schemas.EVENT)


def running(backend: Backend, wire: httpx.Client, **changes: Any) -> tuple[str, Trainer]:
    job = created(wire, body(backend, hyperparameters={"steps": 2}, **changes))["id"]
    trainer = backend.claim(job)
    trainer.start(steps=2)
    return job, trainer


def finish(trainer: Trainer) -> None:
    """Two steps, evaluated before, between and behind them."""
    trainer.evaluate(0, 0.1)
    for step in (1, 2):
        values = {"completions/length_mean": 9.0, "tokens/trained": 50.0 * step, "loss/policy": 0.25}
        trainer.step(step, **{"reward/error_share": 0.0, "entropy/mean": 1.5, **values})
        trainer.evaluate(step, 0.2 * step)
        trainer.checkpoint(step, reward=0.2 * step, final=step == 2)
    trainer.end("succeeded")


def test_states_from_the_queue_to_the_model(wire: httpx.Client, rpc_backend: Backend) -> None:
    job = created(wire, body(rpc_backend, suffix="sums"))
    assert job["status"] == "queued"
    trainer = rpc_backend.claim(job["id"])
    assert job_of(wire, job["id"])["status"] == "running"  # loading
    trainer.start(steps=2)
    trainer.step(1)
    under_way = job_of(wire, job["id"])
    assert (under_way["status"], under_way["finished_at"], under_way["trained_tokens"]) == (
        "running",
        None,
        None,
    )
    assert under_way["estimated_finish"] >= under_way["created_at"]
    trainer.step(2, **{"tokens/trained": 321.0})
    trainer.checkpoint(2, final=True)
    trainer.end("succeeded")
    done = job_of(wire, job["id"])
    assert (done["status"], done["trained_tokens"], done["error"]) == ("succeeded", 321, None)
    assert done["fine_tuned_model"] == f"ft:tiny:default:sums:{job['id'][6:14]}"
    assert done["finished_at"] >= done["created_at"]
    assert done["estimated_finish"] is None


def test_a_failure_says_why(wire: httpx.Client, rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend, wire)
    trainer.end("failed", reason="out_of_memory", message="The GPU is full.", hint="Take fewer rows.")
    job_view = job_of(wire, job)
    assert job_view["error"] == {
        "code": "out_of_memory",
        "message": "The GPU is full. Take fewer rows.",
        "param": None,
    }
    newest = events_of(wire, job)[0]
    assert (newest["level"], newest["type"]) == ("error", "message")
    assert "The GPU is full." in newest["message"]


def test_cancel_pause_and_resume(wire: httpx.Client, rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend, wire)
    assert wire.post(f"/fine_tuning/jobs/{job}/pause").json()["status"] == "pausing"
    trainer.checkpoint(0)
    trainer.end("paused", reason="pause_requested")
    paused = job_of(wire, job)
    assert (paused["status"], paused["error"], paused["finished_at"]) == ("paused", None, None)
    assert wire.post(f"/fine_tuning/jobs/{job}/resume").json()["status"] == "queued"
    rpc_backend.claim(job).start(steps=2)
    assert wire.post(f"/fine_tuning/jobs/{job}/cancel").json()["status"] == "running"
    again = wire.post(f"/fine_tuning/jobs/{job}/cancel")
    refused(again, 409, "job_not_cancellable", None)
    assert again.headers["x-should-retry"] == "false"
    refused(wire.post(f"/fine_tuning/jobs/{job}/resume"), 409, "job_not_paused", None)


@pytest.mark.parametrize("action", ["", "/cancel", "/pause", "/resume", "/events", "/checkpoints"])
def test_unknown_jobs_and_preflights_are_not_there(
    wire: httpx.Client, rpc_backend: Backend, action: str
) -> None:
    method = "POST" if action in ("/cancel", "/pause", "/resume") else "GET"
    missing = wire.request(method, f"/fine_tuning/jobs/ftjob-none{action}")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "job_not_found")
    job = created(wire, body(rpc_backend))["id"]
    rpc_backend.sql("UPDATE job SET purpose = 'preflight' WHERE id = %s", job)
    assert wire.request(method, f"/fine_tuning/jobs/{job}{action}").status_code == 404


def test_lists_are_paged_and_filtered_by_metadata(wire: httpx.Client, rpc_backend: Backend) -> None:
    file = rpc_backend.add_dataset()
    made = [
        created(wire, body(rpc_backend, training_file=file, metadata={"run": str(n % 2), "list": "this"}))[
            "id"
        ]
        for n in range(5)
    ]
    ids, after = [], None
    while True:
        query = {"limit": 2, "metadata[list]": "this"} | ({"after": after} if after else {})
        page = wire.get("/fine_tuning/jobs", params=query).json()
        ids += [item["id"] for item in schemas.listed(page, schemas.JOB)]
        after = page["last_id"]
        if not page["has_more"]:
            break
    assert ids == made[::-1]
    both = wire.get("/fine_tuning/jobs", params={"metadata[run]": "1", "metadata[list]": "this"}).json()
    assert [item["id"] for item in both["data"]] == [made[3], made[1]]
    assert wire.get("/fine_tuning/jobs?metadata%5Blist%5D=other").json()["data"] == []
    plain = created(wire, body(rpc_backend, training_file=file))["id"]
    assert (
        wire.get("/fine_tuning/jobs", params={"metadata": "null", "limit": 1}).json()["data"][0]["id"]
        == plain
    )
    refused(wire.get("/fine_tuning/jobs", params={"after": "ftjob-none"}), 400, "invalid_cursor", "after")


def test_jobs_of_the_page_are_listed_too(wire: httpx.Client, rpc_backend: Backend) -> None:
    rewards = [
        {"type": "python", "name": "one", "source": "def grade(sample, item): return 1.0", "weight": 2.0},
        {"type": "string_check", "name": "two", "input": "a", "reference": "b", "operation": "eq"},
    ]
    job = job_of(wire, rpc_backend.create_job(rewards=rewards))
    grader = job["method"]["reinforcement"]["grader"]
    assert grader["calculate_output"] == "2 * one + 1 * two"
    assert [grader["graders"][name]["type"] for name in ("one", "two")] == ["python", "string_check"]
    alone = job_of(wire, rpc_backend.create_job())["method"]["reinforcement"]
    assert alone["grader"]["type"] == "python"
    assert alone["hyperparameters"]["batch_size"] == 4


def test_epochs_of_a_job_of_the_page_follow_from_the_rows_that_train(
    wire: httpx.Client, rpc_backend: Backend
) -> None:
    file = rpc_backend.add_dataset([{"prompt": f"{n}", "answer": "1"} for n in range(40)])
    other = rpc_backend.add_dataset([{"prompt": "other", "answer": "1"}])
    data: list[tuple[dict[str, Any], int]] = [
        ({"held_out_rows": 0}, 3),  # 30 steps of 4 prompts, 40 rows
        ({}, 4),  # 36 rows
        ({"held_out_rows": 30}, 12),
        ({"held_out": other}, 3),
    ]
    for more, epochs in data:
        job = rpc_backend.create_job(data={"dataset": file} | more, limits={"steps": 30})
        assert hyperparameters_of(job_of(wire, job))["n_epochs"] == epochs, more
        [listed] = wire.get("/fine_tuning/jobs", params={"limit": 1}).json()["data"]
        assert (listed["id"], hyperparameters_of(listed)["n_epochs"]) == (job, epochs)


def test_metric_events_have_the_published_names_and_ours(wire: httpx.Client, rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend, wire)
    finish(trainer)
    metrics = [event for event in events_of(wire, job) if event["type"] == "metrics"][::-1]
    assert [(metric["data"]["step"], metric["data"]["full_valid_mean_reward"]) for metric in metrics] == [
        (0, 0.1), (1, 0.1), (1, 0.2), (2, 0.2), (2, 0.4),
    ]  # fmt: skip
    last = metrics[-1]["data"]
    assert last["train_mean_reward"] == last["scores"]["train_reward_mean"] == 0.2
    assert last["scores"]["valid_reward_mean"] == 0.4
    (grader,) = last["scores"]["graders"]
    assert grader == {
        "name": "Exact_match", "type": "string_check", "train_reward_mean": 0.2, "valid_reward_mean": 0.4
    }  # fmt: skip
    assert (last["total_steps"], last["completion_tokens_mean"]) == (2, 9.0)
    assert last["timing"]["step"]["full_iteration"] == 2.0
    assert last["reinforge"]["train"]["entropy/mean"] == 1.5
    assert metrics[-1]["message"] == "Step 2/2, train mean reward=0.2, full validation mean reward=0.4"


def test_events_are_the_same_however_they_are_paged(wire: httpx.Client, rpc_backend: Backend) -> None:
    job, trainer = running(rpc_backend, wire)
    early = events_of(wire, job)
    finish(trainer)
    whole = events_of(wire, job)
    assert whole[-len(early) :] == early
    paged: list[dict[str, Any]] = []
    while True:
        query = {"limit": 2} | ({"after": paged[-1]["id"]} if paged else {})
        page = wire.get(f"/fine_tuning/jobs/{job}/events", params=query).json()
        paged += page["data"]
        if not page["has_more"]:
            break
    assert paged == whole
    assert len({event["id"] for event in whole}) == len(whole)
    assert whole[0]["message"] == "The job has successfully completed."
    assert sum("Checkpoint created" in event["message"] for event in whole) == 2
    refused(
        wire.get(f"/fine_tuning/jobs/{job}/events", params={"after": "ftevent-other-3"}),
        400, "invalid_cursor", "after",
    )  # fmt: skip


def test_notes_of_the_creation_are_the_oldest_events(wire: httpx.Client, rpc_backend: Backend) -> None:
    request = body(rpc_backend, hyperparameters={"reasoning_effort": "high"})
    job = created(wire, request)["id"]
    assert "reasoning_effort" in events_of(wire, job)[-1]["message"]
    ids: list[str] = []
    while True:
        query = {"limit": 1} | ({"after": ids[-1]} if ids else {})
        page = wire.get(f"/fine_tuning/jobs/{job}/events", params=query).json()
        ids.append(page["data"][0]["id"])
        if not page["has_more"]:
            break
    assert ids == [event["id"] for event in events_of(wire, job)]


def test_checkpoints_have_names_and_metrics_highest_step_first(
    wire: httpx.Client, rpc_backend: Backend
) -> None:
    job, trainer = running(rpc_backend, wire, suffix="x")
    finish(trainer)
    where = f"/fine_tuning/jobs/{job}/checkpoints"
    checkpoints = schemas.listed(wire.get(where).json(), schemas.CHECKPOINT)
    assert [checkpoint["step_number"] for checkpoint in checkpoints] == [2, 1]
    assert checkpoints[0]["fine_tuned_model_checkpoint"] == f"ft:tiny:default:x:{job[6:14]}:ckpt-step-2"
    metrics = checkpoints[1]["metrics"]
    assert (metrics["step"], metrics["valid_reward_mean"], metrics["full_valid_mean_reward"]) == (
        1.0,
        0.2,
        0.2,
    )
    assert (metrics["train_mean_reward"], metrics["train_loss"]) == (0.1, 0.25)
    first = wire.get(where, params={"limit": 1}).json()
    assert (first["has_more"], first["last_id"]) == (True, checkpoints[0]["id"])
    rest = wire.get(where, params={"limit": 1, "after": first["last_id"]}).json()
    assert (rest["has_more"], rest["data"]) == (False, [checkpoints[1]])
    refused(wire.get(where, params={"after": "ftckpt_none"}), 400, "invalid_cursor", "after")
