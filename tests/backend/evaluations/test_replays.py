"""Replays over HTTP: stored completions are scored again, compared, cancelled, interrupted."""

import io
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.backend.server import REWARD, Backend, Trainer, refused, wait_until

pytestmark = pytest.mark.usefixtures("rpc_backend")


def completed(trainer: Trainer, step: int, rewards: list[float], group: int = 2) -> None:
    """A step whose completions got these rewards, `group` of them per prompt."""
    lines, rows = [], []
    name = trainer.claimed["spec"]["rewards"][0]["name"]
    buffer = io.BytesIO()
    for number, reward in enumerate(rewards):
        prompt, sample = divmod(number, group)
        result = {"name": name, "status": "ok", "value": reward, "wall_ms": 1.5,
                  "usage": {"critic": {"cost": 0.002, "calls": 1.0}}}  # fmt: skip
        lines.append(
            {
                "prompt_no": prompt, "sample_no": sample, "text": f"{step}.{number}", "prompt_messages": "[]",
                "item": json.dumps({"n": number}), "rewards": json.dumps([result]),
            }
        )  # fmt: skip
        rows.append(
            {
                "prompt_no": prompt, "sample_no": sample, "prompt_hash": "h", "row_index": 0, "reward": reward,
                "advantage": None, "length": 3, "finish_reason": "stop", "text": f"{step}.{number}",
            }
        )  # fmt: skip
    with pq.ParquetWriter(buffer, pa.Table.from_pylist(lines).schema) as writer:
        for start in range(0, len(lines), group):
            writer.write_table(pa.Table.from_pylist(lines[start : start + group]))
    blob = trainer.blob(buffer.getvalue(), kind="rollouts")
    trainer.send({"kind": "rollouts", "step": step, "split": "train", "blob": blob, "rows": rows})


def job_with_completions(backend: Backend, *steps: list[float], **changes: Any) -> str:
    job = backend.create_job(**changes)
    trainer = backend.claim(job)
    trainer.start(steps=9)
    for step, rewards in enumerate(steps, 1):
        completed(trainer, step, rewards)
    return job


def nothing(payload: dict[str, Any]) -> dict[str, Any]:
    """A sandbox in which every reward is 0."""
    results = [{"name": payload["name"], "status": "ok", "value": 0.0} for _ in payload["rows"]]
    return {"jail": "L", "results": results, "load_error": None}


def ended(
    backend: Backend, id: str, score: Callable[[dict[str, Any]], dict[str, Any]] = nothing
) -> dict[str, Any]:
    def finished() -> dict[str, Any] | None:
        view: dict[str, Any] = backend.api.get(f"/evaluations/{id}").json()
        return view if view["status"] != "running" else None

    with backend.rpc_worker(score=score):
        result: dict[str, Any] = wait_until(finished, "the replay")
    return result


def test_a_replay_compares_all_completions(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0], [1.0, 1.0])
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD})
    assert started.status_code == 201, started.text
    assert (started.json()["total"], started.json()["revision"]) == (4, None)
    done = ended(backend, started.json()["id"])
    assert done["status"] == "succeeded", done["error"]
    report = done["report"]
    assert (report["compared"], report["steps"], report["old_mean"]) == (4, [1, 2], [0.5, 1.0])
    assert (report["new_mean"], report["flips"]) == ([0.0, 0.0], 3)
    assert done["done"] == 4
    assert [
        evaluation["id"] for evaluation in backend.api.get("/evaluations", params={"job": job}).json()["data"]
    ] == [done["id"]]


@pytest.mark.parametrize("environment", ["tools", "agent"])
def test_a_job_with_several_turns_cannot_be_replayed(backend: Backend, environment: str) -> None:
    job = job_with_completions(backend, [1.0, 0.0], environment={"type": environment})
    response = backend.api.post("/evaluations", json={"job": job, "source": REWARD})
    refused(response, "job", "environment_not_supported")
    assert backend.api.get("/evaluations", params={"job": job}).json()["data"] == []


def test_a_replay_reads_the_answer_from_the_declared_column(backend: Backend) -> None:
    """The job stored plain rows, as jobs did before they filled item.answer."""
    data = {"dataset": backend.add_dataset([{"prompt": "1", "n": "1"}] * 9), "columns": {"answer": "n"}}
    job = job_with_completions(backend, [1.0, 0.0], data=data)
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    items: list[dict[str, Any]] = []

    def score(payload: dict[str, Any]) -> dict[str, Any]:
        items.extend(row["item"] for row in payload["rows"])
        return nothing(payload)

    assert ended(backend, started["id"], score)["status"] == "succeeded"
    assert items == [{"n": 0, "answer": 0}, {"n": 1, "answer": 1}]


def test_a_large_job_is_replayed_in_whole_groups_from_every_step(backend: Backend) -> None:
    job = job_with_completions(backend, *[[1.0, 0.0] * 4] * 4)
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD, "completions": 16}).json()
    report = ended(backend, started["id"])["report"]
    assert (report["completions"], report["steps"]) == (16, [1, 2, 3, 4])


def test_replayable_steps_are_listed_before_a_replay_starts(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    ask = backend.api.post
    refused(ask("/evaluations", json={"job": job}), "stored", "no_revision")
    refused(
        ask("/evaluations", json={"job": job, "reward": "x", "source": REWARD}), "reward", "unknown_reward"
    )
    empty = backend.create_job()
    refused(ask("/evaluations", json={"job": empty, "source": REWARD}), "job", "no_completions")
    assert ask("/evaluations", json={"job": "ftjob-none", "source": REWARD}).status_code == 404


def test_a_stored_reward_is_replayed_with_its_newest_revision(backend: Backend) -> None:
    reward = backend.api.post("/rewards", json={"name": "r", "source": REWARD}).json()["id"]
    job = job_with_completions(backend, [1.0, 0.0], rewards=[{"name": "reward", "reward": reward}])
    backend.api.post(
        f"/rewards/{reward}/revisions", headers={"if-match": "*"}, json={"source": REWARD + "# 2\n"}
    )
    started = backend.api.post("/evaluations", json={"job": job}).json()
    assert (started["stored"], started["revision"]) == (reward, 2)
    assert ended(backend, started["id"])["status"] == "succeeded"


def test_an_interrupted_one_says_so(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    ended(backend, started["id"])
    backend.sql(
        "UPDATE evaluation SET status = 'running', result = NULL, touched_at = now() - interval '10 minutes' "
        "WHERE id = %s",
        started["id"],
    )
    view = backend.api.get(f"/evaluations/{started['id']}").json()
    assert (view["status"], view["error"]["code"]) == ("failed", "interrupted")


def test_cancelling_one_that_has_ended_changes_nothing(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    done = ended(backend, started["id"])
    assert backend.api.post(f"/evaluations/{started['id']}/cancel").json() == done


def test_a_failure_of_the_server_is_reported_as_one(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    monkeypatch.setattr("backend.evaluations.replay.compare", None)
    done = ended(backend, started["id"])
    assert (done["status"], done["error"]["code"], done["report"]) == ("failed", "replay_failed", None)


def test_a_result_that_cannot_be_read_ends_the_replay_with_its_reason(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    done = ended(backend, started["id"], score=lambda _: {"results": 3})
    assert (done["status"], done["error"]["code"]) == ("failed", "malformed_rpc")


def test_a_damaged_table_ends_the_replay_with_its_reason(backend: Backend) -> None:
    job = job_with_completions(backend, [1.0, 0.0])
    broken = backend.add_object(b"no Parquet", kind="rollouts")
    backend.sql("UPDATE step_rollouts SET sha256 = %s WHERE job_id = %s", broken, job)
    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    done = ended(backend, started["id"])
    assert (done["status"], done["error"]["code"], done["report"]) == ("failed", "step_table_damaged", None)


def test_its_calls_are_its_projects(backend: Backend) -> None:
    project = backend.sql("SELECT id FROM project")[0][0]
    job = job_with_completions(backend, [1.0, 0.0])
    owners: list[Any] = []

    def score(payload: dict[str, Any]) -> dict[str, Any]:
        taken = "SELECT project_id FROM call WHERE kind = 'score' AND state = 'taken'"
        owners.extend(backend.sql(taken))
        return nothing(payload)

    started = backend.api.post("/evaluations", json={"job": job, "source": REWARD}).json()
    assert ended(backend, started["id"], score)["status"] == "succeeded"
    assert (project,) in owners and (None,) not in owners
