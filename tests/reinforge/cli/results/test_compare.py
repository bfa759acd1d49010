"""`reinforge compare`, against a real HTTP server."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

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
    "group": None, "groups": [], "metrics": [],
}  # fmt: skip
SPREAD = {"mean": 0.9, "minimum": 0.85, "maximum": 0.95, "jobs": 1}


def group(label: str, id: str, **fields: Any) -> dict[str, Any]:
    return {
        "label": label, "value": label, "jobs": [id], "held_out": SPREAD, "held_out_before": None,
        "difference": None, "verdict": None, "notes": [], "completion_tokens": SPREAD, "seconds": None,
        "sampled_tokens": None, "cost": None,
    } | fields  # fmt: skip


GROUPS = COMPARISON | {
    "group": "algorithm.preset",
    "groups": [
        group("preset grpo", "ftjob-1"),
        group("preset dapo", "ftjob-2", difference=OTHER["difference"], verdict="preset dapo is better"),
    ],
}
RESULT = {"step": 1, "prompt_no": 0, "row_index": 0, "completions": 1, "completion_tokens": 3}
PROMPTS = {
    "object": "list", "has_more": False, "next_cursor": None, "total": 1,
    "data": [
        {"prompt_hash": "h", "prompt": "12+30=", "answer": None, "jobs": 2, "reward": 0.5, "difference": 0.75,
         "results": [RESULT | {"job": "ftjob-2", "reward": 0.875}, RESULT | {"job": "ftjob-1", "reward": 0.125}]},
    ],
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


def test_groups_and_prompts_are_printed_on_request(stub: StubServer) -> None:
    stub.on("GET", "/compare", Answer(200, GROUPS))
    stub.on("GET", "/compare/prompts", Answer(200, PROMPTS))
    options = ("--group", "algorithm.preset", "--prompts", "5")
    done = run(stub, "compare", "ftjob-1", "ftjob-2", *options)
    assert done.returncode == 0, done.stderr
    assert "0.900 (0.850 to 0.950)" in done.stdout and "preset dapo is better" in done.stdout
    assert OTHER["verdict"] not in done.stdout
    [prompt] = [line for line in done.stdout.splitlines() if "12+30=" in line]
    assert prompt.split()[-3:] == ["0.750", "0.125", "0.875"]
    queries = [parse_qs(request.query) for request in stub.requests]
    assert queries[0]["group"] == ["algorithm.preset"] and queries[1]["limit"] == ["5"]
