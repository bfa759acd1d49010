"""`reinforge job findings`, and the finding in `job show`, against a real HTTP server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from reinforge.cli.results.findings import commands
from reinforge.diagnosis.finding import Remedy
from tests.reinforge.cli.test_commands import JOB, run
from tests.support.stub_server import Answer, StubServer

FORK = {"kind": "fork", "label": "Continue with learning rate 0.001, from step 10", "step": 10,
        "set": {"optimizer.learning_rate": 0.001}}  # fmt: skip
CAUSE: dict[str, Any] = {
    "code": "learning_rate_too_high", "severity": "error", "step": 12, "noticed_step": 14,
    "title": "Learning rate is too high", "message": "The reward fell.", "why": "Too large updates.",
    "hint": "Lower the learning rate.", "remedies": [FORK],
    "evidence": {"numbers": [{"name": "learning rate", "value": 0.02, "unit": ""}]},
}  # fmt: skip
EFFECT = CAUSE | {
    "code": "all_truncated", "title": "Truncated", "cause": CAUSE["code"], "hint": None, "remedies": [], "step": 13,
}  # fmt: skip


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/jobs/ftjob-1/findings", Answer(200, {"data": [CAUSE, EFFECT]}))
    head = {"code": CAUSE["code"], "severity": "error", "title": CAUSE["title"], "step": 12}
    server.on("GET", "/jobs/ftjob-1", Answer(200, JOB | {"status": "succeeded", "finding": head}))
    yield server
    server.close()


def test_findings_with_the_commands_that_remedy_them(stub: StubServer) -> None:
    lines = run(stub, "job", "findings", "ftjob-1").stdout.splitlines()
    assert lines[0] == "error: Learning rate is too high (since step 12)"
    assert "  evidence   learning rate 0.02" in lines
    command = "             reinforge job fork ftjob-1 --step 10 --set optimizer.learning_rate=0.001"
    assert lines[lines.index(f"  remedy     {FORK['label']}") + 1] == command
    assert "error: Truncated (since step 13, follows from learning_rate_too_high)" in lines
    codes = [item["code"] for item in json.loads(run(stub, "job", "findings", "ftjob-1", "--json").stdout)]
    assert codes == ["learning_rate_too_high", "all_truncated"]


def test_a_job_that_died_is_not_simply_succeeded(stub: StubServer) -> None:
    lines = run(stub, "job", "show", "ftjob-1").stdout.splitlines()
    assert "  state      succeeded · Learning rate is too high" in lines
    assert "  remedies   reinforge job findings ftjob-1" in lines


def test_commands_of_other_remedies() -> None:
    live = Remedy(kind="apply_live", label="", set={"rollout.temperature": 0.8})
    assert commands("j", live) == ["reinforge job change j rollout.temperature=0.8"]
    take = Remedy(kind="stop_and_take", label="", step=10)
    assert commands("j", take) == ["reinforge job cancel j", "reinforge adapter download j"]


def test_a_remedy_is_applied_by_the_code_of_its_finding(stub: StubServer) -> None:
    stub.on("POST", "/jobs/ftjob-1/fork", Answer(201, JOB | {"id": "ftjob-2"}))
    assert (
        run(stub, "job", "findings", "ftjob-1", "--apply", CAUSE["code"]).stdout
        == f"{FORK['label']}: ftjob-2\n"
    )
    refused = run(stub, "job", "findings", "ftjob-1", "--apply", "all_truncated")
    assert refused.returncode != 0 and "Findings with a remedy: learning_rate_too_high." in refused.stderr


def test_a_remedy_with_a_long_command_is_named(stub: StubServer) -> None:
    reward = {"type": "python", "name": "answer", "source": "def grade(sample, item):\n    return 1.0\n" * 20}
    remedy = FORK | {"set": {"rewards": [reward]}}
    stub.on("GET", "/jobs/ftjob-1/findings", Answer(200, {"data": [CAUSE | {"remedies": [remedy]}]}))
    lines = run(stub, "job", "findings", "ftjob-1").stdout.splitlines()
    assert "             reinforge job findings ftjob-1 --apply learning_rate_too_high" in lines
