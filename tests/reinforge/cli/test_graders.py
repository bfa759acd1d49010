"""`reinforge judge …`, and graders in `reinforge reward …`, as processes against a real HTTP server."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reinforge.cli.test_commands import NOW, REWARD, page, run
from tests.support.stub_server import Answer, StubServer

JUDGE: dict[str, Any] = {
    "id": "judge_1", "name": "critic", "base_url": "https://j.example/v1", "model": "big", "input_price": 0.4,
    "output_price": 1.6, "structured": "json_schema", "concurrency": 8, "timeout_seconds": 60.0, "retries": 4,
    "has_key": True, "created_at": NOW, "updated_at": NOW,
}  # fmt: skip
GRADER = {"type": "string_check", "input": "{{ sample.output_text }}", "reference": "x", "operation": "eq"}
ADD = ("judge", "add", "critic", "--base-url", "https://j.example/v1", "--model", "big", "--key-env")


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


def test_a_judge_is_added_with_its_key_from_the_environment(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRITICS_KEY", "sk-critic")
    stub.on("GET", "/judges", page())
    stub.on("POST", "/judges", Answer(201, JUDGE))
    done = run(stub, *ADD, "CRITICS_KEY", "--input-price", "0.4")
    assert (done.returncode, done.stdout.strip()) == (0, "judge_1"), done.stderr
    sent = next(request for request in stub.requests if request.method == "POST").json
    assert (sent["name"], sent["api_key"], sent["input_price"]) == ("critic", "sk-critic", 0.4)
    assert "sk-critic" not in done.stdout + done.stderr


def test_one_of_that_name_is_changed(stub: StubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRITICS_KEY", "sk-critic")
    stub.on("GET", "/judges", page(JUDGE | {"etag": "seen"}))
    stub.on("PATCH", "/judges/critic", Answer(200, JUDGE))
    assert run(stub, *ADD, "CRITICS_KEY").returncode == 0
    assert [request.headers["if-match"] for request in stub.requests if request.method == "PATCH"] == ["seen"]


def test_a_key_that_is_not_there_is_named(stub: StubServer) -> None:
    done = run(stub, *ADD, "NO_SUCH_VARIABLE")
    assert done.returncode != 0
    assert "NO_SUCH_VARIABLE" in done.stderr
    assert not stub.requests


def test_a_grader_file_becomes_the_next_revision_of_its_name(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "exact.json").write_text(json.dumps(GRADER))
    entries = [{"name": "string_check", "spelling": "string_check", "line": None}]
    detail = REWARD | {"name": "exact", "kind": "grader", "granularity": "group"}
    detail["revisions"] = [REWARD["revisions"][0] | {"entries": entries, "kind": "grader"}]
    stub.on("GET", "/rewards", page(detail))
    stub.on("GET", "/rewards/rew_1", Answer(200, detail))
    stub.on("POST", "/rewards/rew_1/revisions", Answer(201, detail))
    done = run(stub, "reward", "push", "exact.json", cwd=tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "rew_1"), done.stderr
    sent = next(request for request in stub.requests if request.method == "POST").json
    assert json.loads(sent["source"]) == GRADER


def test_a_test_shows_parts_labels_and_what_it_cost(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "multi.json").write_text(json.dumps(GRADER))
    result = {
        "name": "r", "status": "ok", "value": 0.5, "parts": {"tone": 1.0}, "labels": {"tone": "kind"},
        "part_status": {"judge": "not_applicable"}, "wall_ms": 12.0,
        "usage": {"critic": {"prompt_tokens": 100, "completion_tokens": 20, "cost": 0.002}},
    }  # fmt: skip
    stub.on("POST", "/rewards/test", Answer(200, {"jail": None, "results": [result]}))
    done = run(stub, "reward", "test", "multi.json", "--completion", "x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for text in ("tone = 1", "kind", "judge  not_applicable", "critic: 120 tokens, 0.002"):
        assert text in done.stdout
    assert "without code" in done.stderr
