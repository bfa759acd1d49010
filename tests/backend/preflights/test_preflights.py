"""Pre-flights: jobs that are not among the jobs, and the report on the one that they stand for."""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.backend.server import Backend, Trainer, refused

pytestmark = pytest.mark.usefixtures("rpc_backend")


def steps(trainer: Trainer, *groups: tuple[float | None, ...]) -> None:
    """One completed step per group, as its trainer would report it."""
    for step, rewards in enumerate(groups, 1):
        lines = [{"rewards": json.dumps([{"wall_ms": 2.0}, {"wall_ms": 1.0}])} for _ in rewards]
        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(lines), buffer)
        rows: list[dict[str, Any]] = [
            {
                "prompt_no": 0, "sample_no": number, "prompt_hash": "h", "row_index": step, "reward": reward,
                "advantage": None, "length": 4, "finish_reason": "stop", "text": f"{step}.{number}",
                "error": "exception" if reward is None else None,
            }
            for number, reward in enumerate(rewards)
        ]  # fmt: skip
        blob = trainer.blob(buffer.getvalue(), kind="rollouts")
        trainer.send({"kind": "rollouts", "step": step, "split": "train", "blob": blob, "rows": rows})
        times = {"time/step": 2.0, "time/generate": 1.0, "time/score": 0.1, "memory/peak": 1.5}
        trainer.send({"kind": "step_metrics", "step": step, "values": times})


def begin(backend: Backend, **changes: Any) -> tuple[dict[str, Any], Trainer]:
    response = backend.api.post("/preflights", json=backend.spec(**changes))
    assert response.status_code == 201, response.text
    preflight: dict[str, Any] = response.json()
    return preflight, backend.claim(preflight["id"])


def test_a_finished_one_reports_on_the_submitted_job(backend: Backend) -> None:
    changes = {"limits": {"steps": 50}, "rollout": {"prompts_per_step": 1, "completions_per_prompt": 2,
                                                  "max_completion_tokens": 16}}  # fmt: skip
    preflight, trainer = begin(backend, **changes)
    assert (preflight["status"], preflight["report"]) == ("queued", None)
    spec = trainer.claimed["spec"]
    assert (spec["limits"]["steps"], spec["evaluation"]["rows"]) == (12, 0), "it is a short job"
    trainer.start(steps=12)
    steps(trainer, (1.0, 0.0), (1.0, 1.0), (0.0, 1.0))
    assert backend.api.get(f"/preflights/{preflight['id']}").json()["report"] is None
    trainer.checkpoint(12, final=True)
    trainer.end("succeeded", step=12)
    done = backend.api.get(f"/preflights/{preflight['id']}").json()
    report = done["report"]
    assert done["spec"]["limits"] == {"steps": 50}
    assert report["completions"] == 6
    assert report["groups"] == {"all_right": 1 / 3, "all_wrong": 0.0, "mixed": 2 / 3, "useful": 2 / 3}
    assert report["reward_ms"]["low"] == 3.0, "of both rewards together"
    assert 3600 * report["hours"]["expected"] > 50 * 2.0, "of all 50 steps"
    assert report["memory_gib"]["expected"] == 1.5


def test_they_are_not_among_the_jobs_and_leave_no_adapter(backend: Backend) -> None:
    before = counts(backend)
    adapters = len(backend.api.get("/adapters").json()["data"])
    preflight, trainer = begin(backend)
    trainer.start(steps=12)
    steps(trainer, (1.0, 0.0))
    trainer.checkpoint(1, final=True)
    trainer.end("succeeded", step=1)
    assert preflight["id"] not in [job["id"] for job in backend.api.get("/jobs").json()["data"]]
    assert len(backend.api.get("/adapters").json()["data"]) == adapters
    assert counts(backend) == before | {"datasets": before["datasets"] + 1}


def counts(backend: Backend) -> dict[str, Any]:
    """Without models: the one that comes with the product joins them whenever an RPC worker has looked at it."""
    amounts: dict[str, Any] = backend.api.get("/project/counts").json()
    return {key: value for key, value in amounts.items() if key != "models"}


def test_rewards_that_pause_it_are_the_report(backend: Backend) -> None:
    preflight, trainer = begin(backend)
    trainer.start(steps=12)
    steps(trainer, (None, None), (None, 1.0))
    trainer.end("paused", reason="reward_errors", message="KeyError", step=2)
    report = backend.api.get(f"/preflights/{preflight['id']}").json()["report"]
    assert report["verdict"] == "stop"
    assert report["errors"] == {"exception": 3}
    assert report["reasons"][0]["code"] == "reward_errors"


def test_one_that_failed_says_why_instead(backend: Backend) -> None:
    preflight, trainer = begin(backend)
    trainer.end("failed", reason="out_of_memory", message="No memory left.", step=0)
    done = backend.api.get(f"/preflights/{preflight['id']}").json()
    assert (done["status"], done["report"], done["error"]["code"]) == ("failed", None, "out_of_memory")


def test_a_job_that_would_be_refused_is_refused(backend: Backend) -> None:
    refused(backend.api.post("/preflights", json=backend.spec(model="nope")), "model", "model_not_found")


def test_it_can_be_cancelled_and_a_job_is_none(backend: Backend) -> None:
    preflight = backend.api.post("/preflights", json=backend.spec()).json()
    assert backend.api.post(f"/preflights/{preflight['id']}/cancel").json()["status"] == "cancelled"
    job = backend.create_job()
    assert backend.api.get(f"/preflights/{job}").json()["error"]["code"] == "preflight_not_found"
    assert backend.api.post(f"/preflights/{job}/cancel").status_code == 404
    assert backend.job(job)["status"] == "queued"
