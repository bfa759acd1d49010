"""`reinforge compare`, against a real HTTP server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import run
from tests.support.stub_server import Answer, StubServer

ESTIMATE = {"value": 0.9, "low": 0.8, "high": 0.97, "rows": 64}


def job(id: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": id, "name": f"name of {id}", "status": "succeeded", "step": 60, "held_out_step": 60,
        "held_out": ESTIMATE, "held_out_before": 0.5, "difference": None, "verdict": None, "notes": [],
        "completion_tokens": 21.0, "seconds": 200.0, "worker_seconds": 180.0, "sampled_tokens": 1.0,
        "trained_tokens": 1.0, "cost": None,
    } | fields  # fmt: skip


OTHER = job(
    "ftjob-2",
    difference={"value": 0.08, "low": 0.03, "high": 0.13, "rows": 64, "paired": True},
    verdict="B is better than A by 0.08 [0.03, 0.13] on 64 held-out prompts.",
    notes=["Its base model is not the baseline's."],
)
COMPARISON = {
    "object": "job_comparison", "baseline": "ftjob-1", "at": "last", "jobs": [job("ftjob-1"), OTHER],
    "settings": [{"path": "optimizer.learning_rate", "values": [1e-4, 2e-4]}],
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/compare", Answer(200, COMPARISON))
    yield server
    server.close()


def test_it_prints_the_table_the_settings_and_the_verdict(stub: StubServer) -> None:
    done = run(stub, "compare", "ftjob-1", "ftjob-2")
    assert done.returncode == 0, done.stderr
    assert "+0.080 [0.030, 0.130]" in done.stdout
    [setting] = [line for line in done.stdout.splitlines() if "optimizer.learning_rate" in line]
    assert "0.0001" in setting and "0.0002" in setting
    assert "B is better than A by 0.08 [0.03, 0.13] on 64 held-out prompts." in done.stdout
    assert "note  Its base model is not the baseline's." in done.stdout


def test_json_is_the_answer_of_the_server(stub: StubServer) -> None:
    done = run(stub, "compare", "ftjob-1", "ftjob-2", "--json")
    assert json.loads(done.stdout) == COMPARISON


def test_an_unknown_moment_is_refused(stub: StubServer) -> None:
    done = run(stub, "compare", "ftjob-1", "ftjob-2", "--at", "first")
    assert done.returncode == 2
    assert "last or best" in done.stderr
