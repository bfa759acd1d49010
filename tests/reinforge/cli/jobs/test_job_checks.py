"""`reinforge job change-reward` and `reinforge preflight --server` as processes, against a real HTTP server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import DATASET, NOW, REWARD, error, page, run
from tests.support.stub_server import Answer, StubServer

CHANGE = {"id": "chg_1", "job": "ftjob-1", "reward": "correct", "revision": "rew_1@3", "created_at": NOW}
ARITHMETIC = Path(__file__).resolve().parents[4] / "examples" / "arithmetic"


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def test_another_revision_from_the_next_step_on(stub: StubServer) -> None:
    stub.on("POST", "/jobs/ftjob-1/changes", Answer(201, CHANGE))
    done = run(stub, "job", "change-reward", "ftjob-1", "--reward", "correct", "--revision", "3")
    assert done.returncode == 0, done.stderr
    assert stub.requests[0].json == {"reward": "correct", "stored": None, "revision": 3}
    assert "correct is rew_1@3 from the next step on" in done.stderr and done.stdout == ""


def test_a_change_that_golden_cases_stop_is_a_conflict(stub: StubServer) -> None:
    stub.on(
        "POST", "/jobs/ftjob-1/changes", error(409, "1 of 2 golden cases fails.", code="golden_cases_fail")
    )
    done = run(stub, "job", "change-reward", "ftjob-1")
    assert done.returncode == 5
    assert "golden cases fails" in done.stderr


def report(verdict: str) -> dict[str, Any]:
    range = {"low": 1.0, "expected": 2.0, "high": 3.0}
    return {
        "verdict": verdict,
        "reasons": [
            {"code": "always_right", "severity": "stop", "message": "All are right.", "hint": "Harder rows."}
        ],
        "completions": 64, "reward_mean": 1.0, "reward_std": 0.0,
        "passes": {"per_group": 8, "histogram": [0] * 8 + [8], "pass_at": {"1": 1.0}},
        "groups": {"all_right": 1.0, "all_wrong": 0.0, "mixed": 0.0, "useful": 0.0},
        "useful_batch": 0.0, "error_share": 0.0, "errors": {}, "reward_ms": range, "tokens": range,
        "truncated_share": 0.0, "duplicate_share": 0.0, "seconds_per_step": 1.5, "hours": range,
        "memory_gib": range, "tokens_in_all": range, "device": "cpu",
    }  # fmt: skip


def preflight(status: str, **more: Any) -> Answer:
    progress = {"step": 4, "steps": 4, "percent": 100.0}
    body = {"id": "pre_1", "status": status, "progress": progress, "spec": {}, "created_at": NOW}
    return Answer(200, body | more)


@pytest.fixture
def served(stub: StubServer) -> StubServer:
    """Takes the demo's files, and a pre-flight that runs at first."""
    stub.on("GET", "/datasets", page())
    stub.on("GET", "/rewards", page())
    stub.on("POST", "/datasets", Answer(201, DATASET))
    stub.on("POST", "/rewards", Answer(201, REWARD))
    stub.on("POST", "/preflights", preflight("queued"))
    return stub


@pytest.mark.parametrize(("verdict", "code"), [("go", 0), ("stop", 1)])
def test_a_preflight_on_the_server_ends_by_its_verdict(served: StubServer, verdict: str, code: int) -> None:
    served.on(
        "GET", "/preflights/pre_1", preflight("running"), preflight("succeeded", report=report(verdict))
    )
    done = run(served, "preflight", str(ARITHMETIC / "job.yaml"), "--server", "--json")
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["verdict"] == verdict
    request = next(recorded for recorded in served.requests if recorded.path.endswith("/preflights"))
    assert request.json["data"]["dataset"] == "file-1", "by id: the worker has none of this machine's files"


def test_a_preflight_that_fails_says_why(served: StubServer) -> None:
    fault = {"code": "out_of_memory", "message": "The model does not fit.", "hint": "A smaller one."}
    served.on("GET", "/preflights/pre_1", preflight("failed", reason="out_of_memory", error=fault))
    done = run(served, "preflight", str(ARITHMETIC / "job.yaml"), "--server")
    assert done.returncode == 1
    assert "The model does not fit." in done.stderr and "A smaller one." in done.stderr and done.stdout == ""
