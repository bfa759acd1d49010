"""Creating, listing, cancelling and resuming jobs."""

import json
import threading
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from backend.http.cursors import encode_cursor, newest_first
from backend.models import Job, now
from tests.backend.server import REWARD, Backend, refused


def test_a_job_is_stored_as_sent_and_as_resolved(rpc_backend: Backend) -> None:
    spec = rpc_backend.spec(metadata={"team": "a"})
    response = rpc_backend.api.post("/jobs", json=spec)
    assert response.status_code == 201, response.text
    job = response.json()
    assert job["spec"] == spec
    resolved = job["resolved_spec"]
    assert (resolved["rollout"]["engine"], resolved["adapter"]["alpha"]) == ("transformers", 32.0)
    assert (resolved["rewards"][0]["entry"], resolved["rollout"]["max_prompt_tokens"]) == ("grade", 112)
    assert (job["status"], job["jail"], job["attempt"], job["created_by"]) == ("queued", "L", 0, "bootstrap")
    assert job["name"] == "tiny on sums"
    assert rpc_backend.job(job["id"]) == job


def test_auto_becomes_what_every_worker_would_choose(rpc_backend: Backend) -> None:
    def resolved(**rollout: Any) -> tuple[str, str]:
        response = rpc_backend.api.post(
            "/jobs", json=rpc_backend.spec(rollout={"max_completion_tokens": 16} | rollout)
        )
        assert response.status_code == 201, response.text
        spec = response.json()["resolved_spec"]
        return spec["rollout"]["engine"], spec["algorithm"]["loss"]["mismatch"]["type"]

    rpc_backend.sql("DELETE FROM worker WHERE kind = 'trainer'")
    assert resolved() == ("transformers", "none"), "no worker is online"
    rpc_backend.register("wrk_gpu", engines=["vllm", "transformers"])
    assert resolved() == ("vllm", "importance")
    assert resolved(top_p=0.9) == ("transformers", "none")
    assert resolved(engine="transformers") == ("transformers", "none")
    rpc_backend.register("wrk_cpu", engines=["transformers"])
    assert resolved() == ("transformers", "none"), "either may take the job"
    assert resolved(engine="vllm") == ("vllm", "importance")
    rpc_backend.sql("DELETE FROM worker WHERE kind = 'trainer'")


def test_an_engine_that_no_worker_has_is_warned_of(rpc_backend: Backend) -> None:
    spec = rpc_backend.spec(rollout={"engine": "vllm", "max_completion_tokens": 16})

    def warnings() -> str:
        return " ".join(rpc_backend.api.post("/jobs/check", json=spec).json()["warnings"])

    rpc_backend.sql("DELETE FROM worker WHERE kind = 'trainer'")
    assert "vllm" not in warnings()
    rpc_backend.register("wrk_cpu", engines=["transformers"])
    assert "No online worker has vllm" in warnings()
    rpc_backend.register("wrk_gpu", engines=["vllm", "transformers"])
    assert "vllm" not in warnings()
    rpc_backend.sql("DELETE FROM worker WHERE kind = 'trainer'")


@pytest.mark.parametrize(
    ("change", "param", "code"),
    [
        ({"model": "nope"}, "model", "model_not_found"),
        ({"data": {"dataset": "file-none"}}, "data.dataset", "dataset_not_found"),
        ({"rewards": [{"type": "python", "reward": "rew_none"}]}, "rewards[0].reward", "reward_not_found"),
        ({"rewards": [{"type": "python", "path": "r.py"}]}, "rewards[0].path", "path_not_allowed"),
        ({"adapter": {"targets": ["w"]}}, "adapter.targets", "unknown_target"),
        ({"rollout": {"max_completion_tokens": 128}}, "rollout.max_completion_tokens", "context_too_short"),
        (
            {"rollout": {"max_prompt_tokens": 100, "max_completion_tokens": 64}},
            "rollout.max_prompt_tokens",
            "context_too_short",
        ),
    ],
)
def test_what_a_job_names_has_to_be_there(
    rpc_backend: Backend, change: dict[str, Any], param: str, code: str
) -> None:
    before = rpc_backend.count_jobs()
    refused(rpc_backend.api.post("/jobs", json=rpc_backend.spec(**change)), param, code)
    assert rpc_backend.count_jobs() == before


def test_a_mixture_of_experts_is_refused_in_nf4(rpc_backend: Backend) -> None:
    before = rpc_backend.count_jobs()
    spec = rpc_backend.spec(base={"precision": "nf4"})
    rpc_backend.sql("""UPDATE base_model SET lora_targets = '["q_proj", "experts"]'""")
    try:
        error = refused(rpc_backend.api.post("/jobs", json=spec), "base.precision", "nf4_experts")
    finally:
        rpc_backend.sql("""UPDATE base_model SET lora_targets = '["q_proj"]'""")
    assert "mixture of experts" in error["message"]
    for change, param in [
        ({"rollout": {"engine": "vllm"}}, "rollout.engine"),
        ({"adapter": {"targets": ["experts"]}}, "adapter.targets"),
    ]:
        response = rpc_backend.api.post("/jobs", json=spec | change)
        assert (response.status_code, response.json()["error"]["param"]) == (422, param)
    assert rpc_backend.count_jobs() == before


def test_a_base_is_divided_only_between_devices_and_sampled_by_vllm(rpc_backend: Backend) -> None:
    before = rpc_backend.count_jobs()
    for change, param in [
        ({}, "base.sharded"),
        ({"devices_per_job": 2, "rollout": {"engine": "transformers"}}, "rollout.engine"),
        ({"devices_per_job": 2, "rollout": {"ahead": 1}}, "rollout.ahead"),
    ]:
        response = rpc_backend.api.post("/jobs", json=rpc_backend.spec(base={"sharded": True}, **change))
        error = response.json()["error"]
        assert (response.status_code, error["param"]) == (422, param)
        assert "base.sharded" in error["message"]
    assert rpc_backend.count_jobs() == before


def test_one_completion_per_prompt_is_refused(rpc_backend: Backend) -> None:
    response = rpc_backend.api.post("/jobs", json=rpc_backend.spec(rollout={"completions_per_prompt": 1}))
    assert response.status_code == 422
    assert response.json()["error"]["param"] == "rollout.completions_per_prompt"


def test_columns_have_to_exist(rpc_backend: Backend) -> None:
    dataset = rpc_backend.add_dataset([{"question": "1+1", "answer": "2"}])
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({}, "data.columns", "missing_prompt"),
        ({"columns": {"prompt": "quest"}}, "data.columns.prompt", "unknown_column"),
        ({"prompt_template": "Solve {problem}"}, "data.prompt_template", "unknown_column"),
        ({"prompt_template": "Solve {question"}, "data.prompt_template", "invalid_template"),
    ]
    for data, param, code in cases:
        response = rpc_backend.api.post("/jobs", json=rpc_backend.spec(data={"dataset": dataset, **data}))
        refused(response, param, code)
    good = rpc_backend.spec(data={"dataset": dataset, "prompt_template": "Solve {question}"})
    assert rpc_backend.api.post("/jobs", json=good).status_code == 201


def test_an_empty_dataset_is_refused(rpc_backend: Backend) -> None:
    dataset = rpc_backend.add_dataset([])
    refused(
        rpc_backend.api.post("/jobs", json=rpc_backend.spec(data={"dataset": dataset})),
        "data.dataset",
        "empty_dataset",
    )


def test_one_row_trains_without_a_held_out_split_and_says_so(rpc_backend: Backend) -> None:
    dataset = rpc_backend.add_dataset([{"prompt": "1+1="}])
    job = rpc_backend.api.post("/jobs", json=rpc_backend.spec(data={"dataset": dataset})).json()
    assert any("none is held out" in warning for warning in job["warnings"])


def test_a_stored_reward_is_pinned_to_its_revision(rpc_backend: Backend) -> None:
    created = rpc_backend.api.post("/rewards", json={"name": "right", "source": REWARD})
    assert created.status_code == 201, created.text
    reward = created.json()["id"]
    spec = rpc_backend.spec(rewards=[{"type": "python", "name": "right", "reward": reward}])
    job = rpc_backend.api.post("/jobs", json=spec).json()
    assert job["resolved_spec"]["rewards"][0]["revision"] == 1
    changed = REWARD.replace("1.0", "0.5")
    assert rpc_backend.api.post(
        f"/rewards/{reward}/revisions", headers={"if-match": "*"}, json={"source": changed}
    ).status_code in (
        200,
        201,
    )
    [claimed] = rpc_backend.claim(job["id"]).claimed["rewards"]
    assert (claimed["source"], claimed["revision"]) == (REWARD, f"{reward}@1")
    newer = rpc_backend.api.post("/jobs", json=spec).json()
    assert rpc_backend.claim(newer["id"]).claimed["rewards"][0]["revision"] == f"{reward}@2"


def test_an_idempotency_key_creates_one_job(rpc_backend: Backend) -> None:
    spec, headers = rpc_backend.spec(), {"idempotency-key": "once"}
    answers: list[httpx.Response] = []
    threads = [
        threading.Thread(
            target=lambda: answers.append(rpc_backend.api.post("/jobs", json=spec, headers=headers))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [answer.status_code for answer in answers] == [201] * 4, [answer.text for answer in answers]
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert sorted(answer.headers.get("idempotent-replayed", "") for answer in answers) == [
        "",
        "true",
        "true",
        "true",
    ]
    other = rpc_backend.api.post("/jobs", json=spec | {"seed": 5}, headers=headers)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")


def test_a_refused_request_does_not_use_up_its_key(rpc_backend: Backend) -> None:
    headers = {"idempotency-key": "second try"}
    assert (
        rpc_backend.api.post("/jobs", json=rpc_backend.spec(model="nope"), headers=headers).status_code == 422
    )
    assert rpc_backend.api.post("/jobs", json=rpc_backend.spec(), headers=headers).status_code == 201


def test_pages_hold_every_job_once_while_jobs_are_added(rpc_backend: Backend) -> None:
    made = [rpc_backend.create_job(name=str(n)) for n in range(5)]
    ids: list[str] = []
    cursor = None
    while True:
        query = {"limit": 2} | ({"after": cursor} if cursor else {})
        page = rpc_backend.api.get("/jobs", params=query).json()
        ids += [job["id"] for job in page["data"]]
        rpc_backend.create_job()
        cursor = page["next_cursor"]
        assert page["has_more"] == (cursor is not None)
        if cursor is None:
            break
    assert len(ids) == len(set(ids))
    assert [id for id in ids if id in made] == made[::-1]


def test_a_later_page_uses_the_index() -> None:
    query = newest_first(
        select(Job).where(Job.project_id == "p"),
        Job.created_at,
        Job.id,
        limit=2,
        after=encode_cursor(now(), "j"),
    )
    assert "(job.created_at, job.id) < (" in str(query), "an OR would read all pages before it"


def test_jobs_are_listed_by_status(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    rpc_backend.api.post(f"/jobs/{job}/cancel")
    listed = rpc_backend.api.get("/jobs", params={"status": ["cancelled", "failed"], "limit": 100}).json()[
        "data"
    ]
    assert job in [item["id"] for item in listed]
    assert {item["status"] for item in listed} <= {"cancelled", "failed"}


def test_a_new_job_wakes_the_workers(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    messages = [json.loads(path.read_text()) for path in (rpc_backend.home / "broker" / "queue").iterdir()]
    woken = [message for message in messages if message["headers"]["argsrepr"] == f"['{job}']"]
    assert [message["headers"]["task"] for message in woken] == ["worker.tasks.wake"]


# ── Cancelling in each state ────────────────────────────────────────────────────────────────────────────────


def cancel(backend: Backend, job: str) -> dict[str, Any]:
    response = backend.api.post(f"/jobs/{job}/cancel")
    assert response.status_code == 200, response.text
    job_view: dict[str, Any] = response.json()
    return job_view


def test_a_queued_job_is_cancelled_at_once(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    cancelled = cancel(rpc_backend, job)
    assert (cancelled["status"], cancelled["reason"]) == ("cancelled", "requested")
    assert cancelled["finished_at"]
    assert (
        rpc_backend.worker_api.post("/jobs/claim", json={"worker": "wrk_test", "job": job}).status_code == 204
    )


def test_a_paused_job_is_cancelled_at_once(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    trainer.start()
    trainer.end("paused", reason="reward_errors", message="All rows failed.")
    assert cancel(rpc_backend, job)["status"] == "cancelled"


@pytest.mark.parametrize("started", [False, True])
def test_a_job_with_a_worker_is_cancelled_by_its_worker(rpc_backend: Backend, started: bool) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    if started:
        trainer.start()
    assert cancel(rpc_backend, job)["status"] == "cancelling"
    [command] = trainer.heartbeat().json()["commands"]
    assert command["kind"] == "cancel"
    assert trainer.heartbeat().json()["commands"] == [command]
    assert trainer.heartbeat(command["id"]).json()["commands"] == []
    trainer.step(1)
    trainer.checkpoint(1)
    trainer.end("succeeded", step=1)  # it was just finishing
    done = rpc_backend.job(job)
    assert (done["status"], done["adapter"], done["progress"]["step"]) == ("cancelled", None, 1)


def test_a_cancelling_job_whose_worker_is_gone_is_cancelled(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    rpc_backend.claim(job)
    cancel(rpc_backend, job)
    rpc_backend.sql("UPDATE job SET lease_until = now() - interval '1 s' WHERE id = %s", job)
    rpc_backend.sweep()
    assert rpc_backend.job(job)["status"] == "cancelled"


def test_what_has_ended_cannot_be_cancelled(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    trainer = rpc_backend.claim(job)
    cancel(rpc_backend, job)
    again = rpc_backend.api.post(f"/jobs/{job}/cancel")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "job_not_cancellable")
    trainer.end("cancelled")
    again = rpc_backend.api.post(f"/jobs/{job}/cancel")
    assert (again.status_code, again.headers["x-should-retry"]) == (409, "false")


# ── Resuming ────────────────────────────────────────────────────────────────────────────────────────────────


def paused_after_step_2(backend: Backend) -> str:
    """A job that paused in its third step, whose completions are stored."""
    job = backend.create_job()
    trainer = backend.claim(job)
    trainer.start()
    for step in (1, 2, 3):
        trainer.step(step)
        if step == 2:
            trainer.resume_state(2)
    trainer.end("paused", reason="reward_errors", message="All rows failed.", hint="Fix it.")
    return job


def test_a_paused_job_goes_on_from_its_resume_state(rpc_backend: Backend) -> None:
    job = paused_after_step_2(rpc_backend)
    assert (
        rpc_backend.worker_api.post("/jobs/claim", json={"worker": "wrk_test", "job": job}).status_code == 204
    )
    rpc_backend.sql("UPDATE job SET lost_attempts = 4 WHERE id = %s", job)

    resumed = rpc_backend.api.post(f"/jobs/{job}/resume")
    assert resumed.status_code == 200, resumed.text
    assert (resumed.json()["status"], resumed.json()["error"]) == ("queued", None)
    assert rpc_backend.sql("SELECT lost_attempts FROM job WHERE id = %s", job) == [(0,)]
    arguments = f"['{job}']"
    messages = [json.loads(path.read_text()) for path in (rpc_backend.home / "broker" / "queue").iterdir()]
    assert sum(message["headers"]["argsrepr"] == arguments for message in messages) == 2

    trainer = rpc_backend.claim(job)
    assert (trainer.attempt, trainer.claimed["resume_step"]) == (2, 2)
    [series] = [
        series
        for series in rpc_backend.api.get(f"/jobs/{job}/metrics").json()["series"]
        if series["key"] == "reward/mean"
    ]
    assert series["steps"] == [1, 2]
    trainer.start(step=2)
    trainer.step(3)
    trainer.checkpoint(3, final=True)
    trainer.end("succeeded", step=3)
    assert rpc_backend.job(job)["status"] == "succeeded"


def test_only_a_paused_job_is_resumed(rpc_backend: Backend) -> None:
    job = rpc_backend.create_job()
    for _ in range(2):  # queued, then cancelled
        refused = rpc_backend.api.post(f"/jobs/{job}/resume")
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "job_not_paused")
        assert refused.json()["error"]["hint"]
        assert refused.headers["x-should-retry"] == "false"
        rpc_backend.api.post(f"/jobs/{job}/cancel")
    assert rpc_backend.api.post("/jobs/ftjob-none/resume").status_code == 404


def test_a_viewer_resumes_nothing(rpc_backend: Backend) -> None:
    job = paused_after_step_2(rpc_backend)
    assert rpc_backend.add_key("viewer").post(f"/jobs/{job}/resume").status_code == 403
    assert rpc_backend.job(job)["status"] == "paused"
