"""Which job the demo shows: a finished one again, an unfinished one to its end, a new one otherwise."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.client import Reinforge
from reinforge.offline import jobfile
from reinforge.offline.demo import NAME, chosen_checkpoint, find_or_start, job_file
from reinforge.offline.examples import spec_hash
from reinforge.spec import JobSpec
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def spec(tmp_path: Path) -> JobSpec:
    (tmp_path / "rows.jsonl").write_text('{"prompt": "1+1="}\n')
    (tmp_path / "reward.py").write_text("def grade(sample, item): return 1\n")
    rewards = [{"type": "python", "name": "right", "path": str(tmp_path / "reward.py")}]
    data = {"dataset": str(tmp_path / "rows.jsonl")}
    return JobSpec.model_validate({"model": "starter-arith", "data": data, "rewards": rewards})


def job(status: str, mark: str) -> dict[str, Any]:
    return {
        "id": "ftjob-1", "name": NAME, "project": "default", "status": status, "attempt": 1, "model": "starter-arith",
        "dataset": "file-1", "reward_names": ["right"], "created_at": "2026-01-02T03:04:05Z",
        "spec": {"metadata": {"demo": mark}}, "progress": {"step": 0, "steps": 3, "percent": 0.0},
    }  # fmt: skip


@pytest.mark.parametrize("status", ["succeeded", "running", "paused"])
def test_a_job_of_the_same_files_is_reused_and_a_paused_one_resumes(
    stub: StubServer, spec: JobSpec, status: str
) -> None:
    there = job(status, spec_hash(spec))
    stub.on("GET", "/jobs", Answer(200, {"data": [there], "has_more": False}))
    stub.on("GET", "/jobs/ftjob-1", Answer(200, there))
    stub.on("POST", "/jobs/ftjob-1/resume", Answer(200, there | {"status": "queued"}))
    with Reinforge(stub.url, "rf-test") as client:
        resumed_job, existed = find_or_start(client, spec, lambda _, data: data, again=False)
    assert (resumed_job.id, existed) == ("ftjob-1", True)
    assert resumed_job.status == ("queued" if status == "paused" else status)
    resumed = [request for request in stub.requests if request.path.endswith("/resume")]
    assert len(resumed) == (status == "paused")


@pytest.mark.parametrize(("status", "mark"), [("failed", None), ("succeeded", "of other files")])
def test_otherwise_a_new_one_starts(stub: StubServer, spec: JobSpec, status: str, mark: str | None) -> None:
    there = job(status, mark or spec_hash(spec))
    stub.on("GET", "/jobs", Answer(200, {"data": [there], "has_more": False}))
    stub.on("GET", "/jobs/ftjob-1", Answer(200, there))
    stub.on("POST", "/jobs", Answer(201, there | {"id": "ftjob-2", "status": "queued"}))
    with Reinforge(stub.url, "rf-test") as client:
        new_job, existed = find_or_start(client, spec, lambda _, data: data, again=False)
    assert (new_job.id, existed) == ("ftjob-2", False)


def test_the_demo_with_tools_is_reused_by_its_own_name(stub: StubServer) -> None:
    spec = jobfile.load(job_file("tools"))
    assert (spec.model, spec.environment.type) == ("starter-tools", "tools")
    assert spec.name and spec.name != NAME
    there = job("succeeded", spec_hash(spec)) | {"name": spec.name}
    stub.on("GET", "/jobs", Answer(200, {"data": [there], "has_more": False}))
    stub.on("GET", "/jobs/ftjob-1", Answer(200, there))
    with Reinforge(stub.url, "rf-test") as client:
        finished, existed = find_or_start(client, spec, lambda _, data: data, again=False)
    assert (finished.id, existed) == ("ftjob-1", True)


@pytest.mark.parametrize(
    ("rewards", "step"), [((0.9, 0.8), 20), ((0.4, 0.3), 40)], ids=["best", "none better"]
)
def test_it_hands_out_the_best_checkpoint_and_the_final_one_where_none_is_better(
    stub: StubServer, rewards: tuple[float, float], step: int
) -> None:
    ended = job("succeeded", "") | {"adapter": "adp_1", "held_out_reward_before": 0.5}
    checkpoints = [
        {"object": "checkpoint", "id": f"ftckpt_{step}", "job": "ftjob-1", "step": step, "held_out_reward": reward,
         "adapter": None, "best": reward == 0.9, "final": step == 40, "bytes": 1, "created_at": "2026-01-02T03:04:05Z"}
        for step, reward in zip((20, 40), rewards, strict=True)
    ]  # fmt: skip
    stub.on("GET", "/jobs/ftjob-1", Answer(200, ended))
    stub.on("GET", "/jobs/ftjob-1/checkpoints", Answer(200, {"data": checkpoints}))
    with Reinforge(stub.url, "rf-test") as client:
        assert chosen_checkpoint(client, client.jobs.get("ftjob-1")).step == step
