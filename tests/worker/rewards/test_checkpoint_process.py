"""The process with checkpoints as its users see it, played by a few lines without torch."""

import os
import sys
from pathlib import Path

import pytest

from reinforge.errors import JobFailure
from tests.support.processes import eventually
from worker.rewards.checkpoints import ModelProcess
from worker.rewards.secrets import VARIABLE, Secrets, take_secrets

PLAYED = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "die":
        os._exit(3)
    if request["op"] == "hang":
        time.sleep(600)
    if request["op"] == "refuse":
        said = {"error": {"code": "reward_model_unusable", "message": "no head"}}
    elif request["op"] == "environment":
        said = {"answers": sorted(os.environ)}
    else:
        said = {"answers": [os.getpid()]}
    print(json.dumps(said), flush=True)
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "played.py").write_text(PLAYED)
    return [sys.executable, str(tmp_path / "played.py")]


def test_one_that_dies_pauses_the_job_and_the_next_order_starts_another(command: list[str]) -> None:
    process = ModelProcess(command)
    try:
        first = process.ask({"op": "pid"})
        assert process.ask({"op": "pid"}) == first
        with pytest.raises(JobFailure) as caught:
            process.ask({"op": "die"})
        assert (caught.value.code, caught.value.retryable) == ("reward_model_failed", True)
        assert "status 3" in caught.value.message
        assert process.ask({"op": "pid"}) != first
    finally:
        process.close()


def test_one_that_never_answers_is_ended(command: list[str]) -> None:
    process = ModelProcess(command, order_seconds=1.0)
    try:
        with pytest.raises(JobFailure) as caught:
            process.ask({"op": "hang"})
        assert caught.value.code == "reward_model_failed"
    finally:
        process.close()


def test_failures_have_an_error_code(command: list[str]) -> None:
    process = ModelProcess(command)
    try:
        with pytest.raises(JobFailure, match="no head") as caught:
            process.ask({"op": "refuse"})
        assert caught.value.code == "reward_model_unusable"
    finally:
        process.close()


def test_it_ends_when_it_is_idle(command: list[str]) -> None:
    process = ModelProcess(command, idle_seconds=0.05)
    process.ask({"op": "pid"})
    eventually(lambda: process.pid is None, within=30, what="the idle process to end")


def test_it_gets_no_secrets(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FRIENDS_API_KEY", "sk-x")
    monkeypatch.setenv(VARIABLE, "{}")
    process = ModelProcess(command)
    try:
        names = process.ask({"op": "environment"})
    finally:
        process.close()
    assert "PATH" in names
    assert not {"FRIENDS_API_KEY", VARIABLE} & set(names)


def test_secrets_are_taken_out_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = Secrets({"j": "sk-x"}, "whsec_x")
    monkeypatch.setenv(VARIABLE, secrets.environment()[VARIABLE])
    assert take_secrets() == secrets
    assert VARIABLE not in os.environ and take_secrets() == Secrets()
    assert Secrets().environment() == {}
    assert "sk-x" not in repr(secrets)
