"""The training check in `reinforge job show`, against a real HTTP server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import JOB, run
from tests.support.stub_server import Answer, StubServer

PROBLEM = {
    "code": "truncated",
    "severity": "error",
    "title": "Truncated completions",
    "message": "60% of completions hit the token limit.",
    "hint": "Raise rollout.max_completion_tokens or reward shorter answers.",
    "step": 6,
}
LOSS = {"code": "loss", "severity": "info", "title": "A loss near 0 is normal", "message": "Read the reward."}


def check(**fields: Any) -> dict[str, Any]:
    body = {
        "object": "training_check", "job": "ftjob-1", "step": 9, "state": "unsure", "verdict": None,
        "message": "Not yet: the reward stays at about 0.50.", "summary": PROBLEM, "observations": [PROBLEM, LOSS],
    }  # fmt: skip
    return body | fields


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def show(stub: StubServer, body: dict[str, Any] | None, *options: str) -> str:
    stub.on("GET", "/jobs/ftjob-1", Answer(200, JOB | {"status": "running"}))
    if body is not None:
        stub.on("GET", "/jobs/ftjob-1/training-check", Answer(200, body))
    done = run(stub, "job", "show", "ftjob-1", *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_answer_and_each_problem_with_advice(stub: StubServer) -> None:
    lines = show(stub, check()).splitlines()
    assert "  training   Not yet: the reward stays at about 0.50." in lines
    problem = "  error      Truncated completions (since step 6): 60% of completions hit the token limit."
    assert lines[lines.index(problem) + 1] == f"  hint       {PROBLEM['hint']}"
    assert not any("loss" in line for line in lines)


def test_the_message_of_the_verdict_is_not_repeated(stub: StubServer) -> None:
    output = show(stub, check(verdict="unknown", message="Cannot tell."))
    assert "training " not in output and "Truncated completions" in output


def test_json_has_the_whole_check(stub: StubServer) -> None:
    document = json.loads(show(stub, check(), "--json"))
    assert document["id"] == "ftjob-1"
    assert document["training_check"]["state"] == "unsure"
    assert [item["code"] for item in document["training_check"]["observations"]] == ["truncated", "loss"]


def test_a_server_without_the_check_is_no_error(stub: StubServer) -> None:
    assert "training" not in show(stub, None)
    assert "training_check" not in json.loads(show(stub, None, "--json"))
