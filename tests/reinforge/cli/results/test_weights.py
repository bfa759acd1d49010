"""Which checkpoint of a job commands take, and what they say about it; what they say about its outcome."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import JOB, NOW, run
from tests.reinforge.client.test_adapters import archive
from tests.support.stub_server import Answer, StubServer

NO_CHANGE = {
    "verdict": "no_change",
    "verdict_detail": {
        "outcome": "no_change",
        "message": "No change beyond chance: held-out reward 0.00 → 0.00 (+0.00).",
        "note": "no change",
    },
}


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def checkpoint(step: int, reward: float | None, **more: Any) -> dict[str, Any]:
    return {
        "id": f"ftckpt_{step}", "job": "ftjob-1", "step": step, "bytes": 4, "held_out_reward": reward, "best": False,
        "final": False, "adapter": None, "created_at": NOW,
    } | more  # fmt: skip


def adapter(id: str = "adp_1", **more: Any) -> dict[str, Any]:
    return {
        "id": id, "name": "adds", "job": "ftjob-1", "checkpoint": "ftckpt_60", "step": 60, "model": "tiny", "bytes": 4,
        "sha256": "0" * 64, "held_out_reward": 0.92, "created_at": NOW,
    } | more  # fmt: skip


def finished_job(stub: StubServer, *, best: float | None = 0.96, adapter: str | None = "adp_1") -> None:
    """Its final checkpoint, step 60, is not the best; `best` None: neither is above the base."""
    status = "succeeded" if adapter else "running"
    job = JOB | {"adapter": adapter, "status": status, "held_out_reward_before": 0.58}
    change = {"value": 0.38, "low": 0.21, "high": 0.55}
    early = checkpoint(20, 0.41) if best is None else checkpoint(20, best, best=True, held_out_change=change)
    final = checkpoint(60, 0.0 if best is None else 0.92, final=adapter is not None, adapter=adapter)
    stub.on("GET", "/jobs/ftjob-1", Answer(200, job))
    stub.on("GET", "/jobs/ftjob-1/checkpoints", Answer(200, {"data": [final, early]}))
    for step in (20, 60):
        content = archive("adapter_config.json", f"step-{step}")
        stub.on("GET", f"/jobs/ftjob-1/checkpoints/{step}/download", Answer(200, content))


@pytest.mark.parametrize(
    ("options", "step", "words"),
    [
        (
            [],
            20,
            "step 20, the best checkpoint: held-out reward 0.96, +0.38 from the base (95% interval +0.21 to +0.55)",
        ),
        (["--final"], 60, "The best checkpoint is another one: step 20"),
        (["--step", "60"], 60, "step 60, the final checkpoint"),
    ],
)
def test_of_a_job_the_best_checkpoint_is_downloaded_unless_another_is_chosen(
    stub: StubServer, tmp_path: Path, options: list[str], step: int, words: str
) -> None:
    finished_job(stub)
    done = run(stub, "adapter", "download", "ftjob-1", *options, "--to", "here", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "here" / f"step-{step}").exists()
    assert json.loads(done.stdout)["step"] == step
    assert words in done.stderr


def test_none_is_downloaded_without_a_choice_where_none_is_better_than_the_base(
    stub: StubServer, tmp_path: Path
) -> None:
    finished_job(stub, best=None)
    refused = run(stub, "adapter", "download", "ftjob-1", cwd=tmp_path)
    assert (refused.returncode, list(tmp_path.iterdir())) == (5, [])
    assert "No checkpoint is better than the base (0.58): step 20 reached 0.41." in refused.stderr
    assert "--final" in refused.stderr
    chosen = run(stub, "adapter", "download", "ftjob-1", "--final", "--to", "a.tar.gz", cwd=tmp_path)
    assert chosen.returncode == 0 and "No checkpoint is better" in chosen.stderr
    assert (tmp_path / "a.tar.gz").exists()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"base_reward": 0.95}, "not better than the base"),
        (
            {"base_reward": 0.5, "best": {"id": "ftckpt_20", "step": 20, "held_out_reward": 0.96}},
            "Step 20 is better",
        ),
        ({"base_reward": 0.5, "best": {"id": "ftckpt_60", "step": 60, "held_out_reward": 0.92}}, ""),
        ({}, ""),
    ],
)
def test_an_adapter_by_its_own_id_comes_with_a_note(
    stub: StubServer, tmp_path: Path, more: dict[str, Any], words: str
) -> None:
    stub.on("GET", "/adapters/adp_1", Answer(200, adapter(**more)))
    stub.on("GET", "/adapters/adp_1/download", Answer(200, archive("adapter_config.json")))
    done = run(stub, "adapter", "download", "adp_1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert words in done.stderr and ("note" in done.stderr) is bool(words)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (["ftjob-1", "--step", "7"], 5, "Steps with a checkpoint: 20, 60."),
        (["ftjob-1", "--step", "20", "--final"], 2, "not both"),
        (["adp_1", "--final"], 2, "choose a checkpoint"),
    ],
)
def test_a_wrong_choice_says_what_there_is(stub: StubServer, args: list[str], code: int, words: str) -> None:
    finished_job(stub)
    done = run(stub, "adapter", "download", *args)
    assert done.returncode == code and words in done.stderr


def test_a_job_that_learned_nothing_says_so(stub: StubServer) -> None:
    job = JOB | NO_CHANGE | {"status": "succeeded", "best_step": None, "adapter": "adp_1"}
    stub.on("GET", "/jobs/ftjob-1", Answer(200, job))
    stub.on("GET", "/jobs", Answer(200, {"data": [job]}))
    output = run(stub, "job", "show", "ftjob-1")
    assert "(reinforge adapter download ftjob-1 --final)" in output.stdout
    assert "succeeded · no change" in output.stdout
    assert "verdict    No change beyond chance: held-out reward 0.00 → 0.00" in output.stdout
    assert "no change" in " ".join(run(stub, "job", "list").stdout.split())
    events = [{"seq": 1, "job": "ftjob-1", "type": "status", "data": {"status": "succeeded"}}]
    stream = f"id: 1\nevent: batch\ndata: {json.dumps({'events': events})}\n\n".encode()
    stub.on("GET", "/jobs/ftjob-1/stream", Answer(200, stream, {"content-type": "text/event-stream"}))
    stub.on("GET", "/jobs/ftjob-1/events", Answer(200, {"data": []}))
    watched = run(stub, "job", "watch", "ftjob-1", "--exit-status")
    assert watched.returncode == 0 and "No change beyond chance" in watched.stdout
