"""Waiting for jobs and evaluations as a process: time-outs, Ctrl-C, and the way back; against a real HTTP server."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import (
    DATASET,
    JOB,
    NOW,
    REWARD,
    error,
    event,
    events,
    job_files,
    page,
    run,
)
from tests.support.processes import eventually, hear_interrupts
from tests.support.stub_server import Answer, StubServer

SSE = {"content-type": "text/event-stream"}
EVALUATION: dict[str, Any] = {
    "id": "eval_1", "kind": "stand_alone", "reward": "r", "status": "running", "done": 1, "total": 8, "created_at": NOW,
}  # fmt: skip
HANGS = 60.0
"""Seconds that a stream is silent: longer than any test may take."""


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    server.on("GET", "/datasets", page())
    server.on("POST", "/datasets", Answer(201, DATASET))
    server.on("GET", "/rewards", page())
    server.on("POST", "/rewards", Answer(201, REWARD))
    server.on("POST", "/jobs", Answer(201, JOB))
    server.on("POST", "/jobs/ftjob-1/resume", Answer(200, JOB))
    server.on("GET", "/jobs/ftjob-1", Answer(200, JOB | {"status": "running"}))
    server.on("GET", "/jobs/ftjob-1/stream", Answer(200, b"", SSE, delay=HANGS))
    server.on("GET", "/evaluations/eval_1", Answer(200, EVALUATION))
    server.on("POST", "/evaluations", Answer(201, EVALUATION))
    yield server
    server.close()


def commands(folder: Path) -> dict[str, list[str]]:
    return {
        "create": ["job", "create", "-f", str(job_files(folder)), "--wait"],
        "resume": ["job", "resume", "ftjob-1", "--wait"],
        "watch": ["job", "watch", "ftjob-1"],
        "quiet": ["job", "watch", "ftjob-1", "--quiet"],
        "eval": ["eval", "--model", "m", "--dataset", "file-1", "--reward", "rew_1"],
        "eval resumed": ["eval", "--resume", "eval_1", "--out", "r.json"],
    }


def way_back(command: str) -> str:
    if command == "eval resumed":
        return "reinforge eval --resume eval_1 --out r.json"
    return "reinforge eval --resume eval_1" if command == "eval" else "reinforge job watch ftjob-1"


@pytest.mark.parametrize("command", ["create", "resume", "watch", "quiet", "eval", "eval resumed"])
def test_a_time_out_leaves_it_running_and_says_how_to_come_back(
    stub: StubServer, tmp_path: Path, command: str
) -> None:
    began = time.monotonic()
    done = run(stub, *commands(tmp_path)[command], "--timeout", "0.5")
    assert done.returncode == 124, done.stderr
    assert time.monotonic() - began < HANGS / 2, "the stream's silence does not hold it"
    assert "keeps running" in done.stderr and way_back(command) in done.stderr
    assert "Traceback" not in done.stderr
    assert not [request for request in stub.requests if request.path.endswith("/cancel")]


@pytest.mark.parametrize("command", ["create", "watch", "eval"])
def test_ctrl_c_detaches_and_says_how_to_come_back(stub: StubServer, tmp_path: Path, command: str) -> None:
    environment = os.environ | {"REINFORGE_URL": stub.url, "REINFORGE_API_KEY": "k", "NO_COLOR": "1"}
    line = [sys.executable, "-m", "reinforge.cli.main", *commands(tmp_path)[command]]
    process = subprocess.Popen(
        line,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"COLUMNS": "200"},
        preexec_fn=hear_interrupts,
    )
    followed = "/evaluations/eval_1" if command == "eval" else "/jobs/ftjob-1/stream"
    eventually(lambda: any(request.path.endswith(followed) for request in stub.requests), 60, "following it")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert "Detached" in stderr and "keeps running" in stderr and way_back(command) in stderr
    assert "Traceback" not in stderr
    assert not [request for request in stub.requests if request.path.endswith("/cancel")]


def test_events_come_in_time_with_a_time_out_too(stub: StubServer) -> None:
    metrics = {"step": 1, "kind": "train", "values": {"reward/mean": 0.5}}
    stream = events([event(1, "metrics", **metrics), event(2, "status", status="succeeded")])
    stub.on("GET", "/jobs/ftjob-1/stream", Answer(200, stream, SSE))
    running = Answer(200, JOB | {"status": "running"})
    stub.on("GET", "/jobs/ftjob-1", running, Answer(200, JOB | {"status": "succeeded"}))
    stub.on("GET", "/jobs/ftjob-1/events", page())
    done = run(stub, "job", "watch", "ftjob-1", "--timeout", "50", "--exit-status")
    assert done.returncode == 0, done.stderr
    assert "step 1/3  reward 0.500" in done.stderr
    stub.on("GET", "/jobs/ftjob-1", running)
    stub.on("GET", "/jobs/ftjob-1/stream", error(403, "no"))
    assert run(stub, "job", "watch", "ftjob-1", "--timeout", "50").returncode == 4, "errors come through too"


def test_a_time_out_of_nothing_is_wrong_usage(stub: StubServer, tmp_path: Path) -> None:
    done = run(stub, "job", "create", "-f", str(job_files(tmp_path)), "--timeout", "5")
    assert (done.returncode, "--wait" in done.stderr, stub.requests) == (2, True, [])


def test_coming_back_ends_as_the_evaluation_does(stub: StubServer, tmp_path: Path) -> None:
    ended = EVALUATION | {"status": "succeeded", "done": 8}
    stub.on("GET", "/evaluations/eval_1", Answer(200, EVALUATION), Answer(200, ended))
    stub.on("GET", "/evaluations/eval_1/rows", Answer(200, {"data": [], "pass_above": 0.5}))
    done = run(stub, "eval", "--resume", "eval_1", "--out", str(tmp_path / "r.json"))
    assert (done.returncode, done.stdout.strip()) == (0, "eval_1"), done.stderr
    assert '"succeeded"' in (tmp_path / "r.json").read_text()
    assert {request.method for request in stub.requests} == {"GET"}, "nothing is started again"
    failed = EVALUATION | {"status": "failed", "error": {"code": "no_worker", "message": "No worker."}}
    stub.on("GET", "/evaluations/eval_1", Answer(200, failed))
    stub.on("POST", "/evaluations/eval_1/resume", Answer(200, EVALUATION))
    assert run(stub, "eval", "--resume", "eval_1").returncode == 1
    assert [request.path for request in stub.requests if request.method == "POST"] == [
        "/api/v1/evaluations/eval_1/resume"
    ]


def test_coming_back_changes_nothing(stub: StubServer) -> None:
    done = run(stub, "eval", "--resume", "eval_1", "--rows", "5", "--model", "m")
    assert (done.returncode, stub.requests) == (2, [])
    assert "remove --rows, --model" in done.stderr
    bare = run(stub, "eval", "--model", "m", "--reward", "rew_1")
    assert (bare.returncode, "--dataset" in bare.stderr) == (2, True)
