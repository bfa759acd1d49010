"""`reinforge job change|checkpoint|fork|show` as processes, against a real HTTP server."""

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import JOB
from tests.support.preloaded import run_module
from tests.support.stub_server import Answer, StubServer

NOW = "2026-01-02T03:04:05Z"
RATE: dict[str, Any] = {
    "setting": "optimizer.learning_rate",
    "title": "learning rate",
    "value": 1e-5,
    "created_with": 1e-4,
}
LOSS, REWARD = (
    {"setting": f"algorithm.{slot}.kl.beta", "title": "KL β", "value": 0.1, "created_with": 0.1}
    for slot in ("loss", "shaping")
)
SETTINGS = "/jobs/ftjob-1/settings"


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", SETTINGS, Answer(200, {"data": [RATE, LOSS, REWARD]}))
    made = {"id": "chg_1", "job": "ftjob-1", "type": "setting", "created_at": NOW}
    answer = made | {"setting": RATE["setting"], "value": 5e-6, "before": 1e-5}
    server.on("POST", "/jobs/ftjob-1/changes", Answer(201, answer))
    yield server
    server.close()


def run(stub: StubServer, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"REINFORGE_URL": stub.url, "REINFORGE_API_KEY": "rf-test", "NO_COLOR": "1"}
    return run_module("reinforge.cli.main", "job", *words, env=environment, timeout=120)


def test_a_setting_is_changed_by_the_last_part_of_its_name(stub: StubServer) -> None:
    done = run(stub, "change", "ftjob-1", "learning_rate=5e-6")
    assert (done.returncode, "5e-06 from the next step on; it was 1e-05" in done.stderr) == (0, True), (
        done.stderr
    )
    assert stub.requests[-1].json == {"type": "setting", "setting": "optimizer.learning_rate", "value": 5e-6}


def test_without_a_setting_they_are_listed(stub: StubServer) -> None:
    assert json.loads(run(stub, "change", "ftjob-1", "--json").stdout) == [RATE, LOSS, REWARD]
    assert "optimizer.learning_rate" in run(stub, "change", "ftjob-1").stdout


def rate_line(stub: StubServer, status: str, *changes: dict[str, Any]) -> str:
    rate = {"optimizer": {"learning_rate": 0.03}}
    job = JOB | {"status": status, "spec": rate, "resolved_spec": rate}
    stub.on("GET", "/jobs/ftjob-1", Answer(200, job))
    base = {"id": "chg_1", "job": "ftjob-1", "type": "setting", "created_at": NOW}
    stub.on("GET", "/jobs/ftjob-1/changes", Answer(200, {"data": [base | change for change in changes]}))
    (line,) = [line for line in run(stub, "show", "ftjob-1").stdout.splitlines() if "  rate " in line]
    return line.removeprefix("  rate").strip()


def test_a_job_shows_the_rate_that_applies_now(stub: StubServer) -> None:
    raised, lowered, warmer = (
        {"setting": "optimizer.learning_rate", "value": 0.05, "before": 0.03, "step": 9, "created_by": "Ada"},
        {"setting": "optimizer.learning_rate", "value": 0.001, "step": 5, "created_by": "Diagnosis"},
        {"setting": "rollout.temperature", "value": 0.8, "before": 1.0, "step": 12},
    )
    waiting = raised | {"value": 0.002, "step": None}
    assert rate_line(stub, "running", warmer) == "0.03"
    # The second was made after the first and holds from an earlier step on, to which the job was rolled back.
    changed = "0.001, changed at step 5 by Diagnosis; the job began with 0.03"
    assert rate_line(stub, "running", raised, lowered, warmer) == changed
    assert rate_line(stub, "running", lowered, waiting) == f"{changed}; 0.002 from the next step on"
    assert rate_line(stub, "succeeded", lowered, waiting) == changed
    assert rate_line(stub, "running", waiting) == "0.03; 0.002 from the next step on"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["learning_rate=5e-6", "kl.beta=0.2"], "algorithm.shaping.kl.beta"),
        (["steps=5"], "no setting of this job"),
        (["learning_rate=fast"], "sets no number"),
    ],
    ids=["two-of-that-name", "unknown", "no-number"],
)
def test_nothing_is_changed_where_one_of_them_is_wrong(
    stub: StubServer, words: list[str], message: str
) -> None:
    done = run(stub, "change", "ftjob-1", *words)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert [request.method for request in stub.requests] == ["GET"]


def test_a_checkpoint_is_requested(stub: StubServer) -> None:
    command = {"id": "cmd_1", "job": "ftjob-1", "kind": "checkpoint", "created_at": NOW}
    stub.on("POST", "/jobs/ftjob-1/checkpoint", Answer(202, command))
    assert json.loads(run(stub, "checkpoint", "ftjob-1", "--json").stdout)["id"] == "cmd_1"


def test_a_fork_sends_values_as_a_job_file_has_them(stub: StubServer) -> None:
    job = {
        "id": "ftjob-2", "name": "a", "project": "default", "status": "queued", "attempt": 0, "model": "tiny",
        "dataset": "file-1", "reward_names": ["correct"], "created_at": NOW, "spec": {},
        "progress": {"step": 20, "steps": 60, "percent": 33.3},
        "forked_from": {"job": "ftjob-1", "step": 20, "carried": ["weights", "optimizer"]},
    }  # fmt: skip
    stub.on("POST", "/jobs/ftjob-1/fork", Answer(201, job))
    words = ["--step", "20", "--set", "optimizer.learning_rate=1e-5", "--set", "algorithm={preset: dr_grpo}"]
    done = run(stub, "fork", "ftjob-1", *words)
    assert (done.returncode, done.stdout.strip()) == (0, "ftjob-2"), done.stderr
    assert "from step 20, with that step's weights, optimizer" in done.stderr
    assert stub.requests[-1].json == {
        "step": 20,
        "name": None,
        "set": {"optimizer.learning_rate": 1e-5, "algorithm": {"preset": "dr_grpo"}},
    }
    assert run(stub, "fork", "ftjob-1", "--set", "limits.steps").returncode == 2
    stub.on("POST", "/jobs/ftjob-1/fork", Answer(201, job | {"forked_from": None}))
    done = run(stub, "fork", "ftjob-1", "--step", "0")
    assert (done.returncode, done.stdout.strip()) == (0, "ftjob-2"), done.stderr
    assert "starts where ftjob-1 started" in done.stderr


def test_the_steps_to_go_on_from_are_listed(stub: StubServer) -> None:
    starts = [{"step": 20, "whole": True, "held_out_reward": 0.5}, {"step": 10, "whole": False}]
    stub.on("GET", "/jobs/ftjob-1/starts", Answer(200, {"data": starts}))
    lines = run(stub, "fork", "ftjob-1", "--starts").stdout.splitlines()
    assert [line.split()[0] for line in lines if line.strip()[:1].isdigit()] == ["20", "10"]
