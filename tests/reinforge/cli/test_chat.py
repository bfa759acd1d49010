"""`reinforge chat` as a process."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import JOB, NOW, error, run
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def stream(*events: dict[str, Any]) -> Answer:
    frames = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Answer(200, f": waiting\n\n{frames}".encode(), {"content-type": "text/event-stream"})


PLACE = {"prompt": 0, "sample": 0}
ANSWER = stream(
    {"type": "status", "message": "Loading starter-arith"},
    {"type": "delta", **PLACE, "text": "forty-"},
    {"type": "delta", **PLACE, "text": "zwei ✓"},
    {"type": "done", **PLACE, "text": "forty-zwei ✓", "tokens": 9, "finish_reason": "length"},
    {"type": "end"},
)


def checkpoint(step: int, best: bool = False) -> dict[str, Any]:
    return {
        "id": f"ftckpt_{step}", "job": "ftjob-1", "step": step, "bytes": 1, "held_out_reward": None, "best": best,
        "final": False, "adapter": None, "created_at": NOW,
    }  # fmt: skip


def test_the_answer_alone_is_on_stdout(stub: StubServer) -> None:
    stub.on("POST", "/sample", ANSWER)
    done = run(stub, "chat", "12+30=", "--system", "Be brief.", "--temperature", "0")
    assert (done.returncode, done.stdout) == (0, "forty-zwei ✓\n")
    assert "Loading starter-arith" in done.stderr and "cut off after 9 tokens" in done.stderr
    body = stub.requests[-1].json
    assert (body["model"], body["checkpoint"], body["temperature"]) == ("starter-arith", None, 0)
    assert [message["role"] for message in body["prompts"][0]] == ["system", "user"]


@pytest.mark.parametrize(("more", "checkpoint_id"), [((), "ftckpt_2"), (("--step", "3"), "ftckpt_3")])
def test_a_job_answers_with_its_checkpoint(
    stub: StubServer,
    more: tuple[str, ...],
    checkpoint_id: str,
) -> None:
    stub.on("GET", "/jobs/ftjob-1", Answer(200, JOB | {"model": "tiny"}))
    checkpoints = [checkpoint(3), checkpoint(2, best=True), checkpoint(1)]
    stub.on("GET", "/jobs/ftjob-1/checkpoints", Answer(200, {"data": checkpoints}))
    stub.on("POST", "/sample", ANSWER)
    assert run(stub, "chat", "hello", "--job", "ftjob-1", *more).returncode == 0
    assert (stub.requests[-1].json["model"], stub.requests[-1].json["checkpoint"]) == ("tiny", checkpoint_id)
    gone = run(stub, "chat", "hello", "--job", "ftjob-1", "--step", "9")
    assert gone.returncode == 2 and "1, 2, 3" in gone.stderr


def test_errors_before_and_within_the_stream(stub: StubServer) -> None:
    stub.on("POST", "/sample", error(503, "No worker.", code="no_worker", hint="Start one."))
    refused = run(stub, "chat", "hello")
    assert refused.returncode != 0 and "Start one." in refused.stderr
    stub.routes.clear()
    failed = {"type": "error", "error": {"message": "Too big.", "code": "out_of_memory", "hint": "Less."}}
    stub.on("POST", "/sample", stream({"type": "delta", **PLACE, "text": "a"}, failed))
    broken = run(stub, "chat", "hello")
    assert broken.returncode != 0 and "Too big." in broken.stderr


def test_a_stream_that_breaks_off_is_an_error(stub: StubServer) -> None:
    stub.on("POST", "/sample", stream({"type": "delta", **PLACE, "text": "a"}))
    broken = run(stub, "chat", "hello")
    assert broken.returncode != 0 and "ended early" in broken.stderr
