"""`reinforge reward golden …` as a process, against a real HTTP server."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.reinforge.cli.test_commands import NOW, run
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Any:
    server = StubServer()
    yield server
    server.close()


CASE = {"id": "gold_1", "reward": "rew_1", "item": {}, "prompt": "", "completion": "4", "expect": {"value": 1.0},
        "note": "the answer", "created_at": NOW}  # fmt: skip


def outcome(passed: bool) -> dict[str, Any]:
    message = None if passed else "It got 0 instead of 1."
    return {"passed": passed, "expected": "1", "value": float(passed), "status": "ok", "message": message}


def answer(*passed: bool) -> Answer:
    results = [{"case": f"gold_{number}", "outcome": outcome(passes)} for number, passes in enumerate(passed)]
    return Answer(200, {"reward": "rew_1", "revision": 1, "passed": all(passed), "results": results})


def test_a_run_that_fails_exits_with_1_and_writes_junit(stub: StubServer, tmp_path: Path) -> None:
    stub.on("GET", "/rewards/rew_1/golden-cases", Answer(200, {"object": "list", "data": [CASE, CASE]}))
    stub.on("POST", "/rewards/rew_1/golden-cases/run", answer(True, False))
    done = run(stub, "reward", "golden", "run", "rew_1", "--junit", "out.xml", cwd=tmp_path)
    assert done.returncode == 1
    assert "It got 0 instead of 1." in done.stdout and "1 of 2 pass" in done.stderr
    report = ElementTree.fromstring((tmp_path / "out.xml").read_text())
    assert (report.get("name"), report.get("tests"), report.get("failures")) == ("rew_1", "2", "1")


def test_a_file_is_run_on_the_cases_of_another(stub: StubServer, tmp_path: Path) -> None:
    (tmp_path / "reward.py").write_text("def grade(sample, item): return 1\n")
    cases = [{"completion": "4", "expect": {"value": 1}}, {"completion": "4", "expect": {"above": "5"}}]
    (tmp_path / "cases.yaml").write_text(json.dumps(cases))
    results = [{"name": "r", "status": "ok", "value": value} for value in (1.0, 1.0, 0.0)]
    stub.on("POST", "/rewards/test", Answer(200, {"jail": "L", "results": results}))
    done = run(stub, "reward", "golden", "run", "reward.py", "--cases", "cases.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [row["completion"] for row in stub.requests[0].json["rows"]] == ["4", "4", "5"]


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("[{completion: x}]", "0.expect"),
        ("[{completion: x, expect: {value: 1, most: 2}}]", "exactly one"),
        ("{completion: x}", "list"),
        ("[: {", "cannot be read"),
    ],
)
def test_cases_at_fault_are_named_before_anything_is_sent(
    stub: StubServer, tmp_path: Path, written: str, place: str
) -> None:
    (tmp_path / "cases.yaml").write_text(written)
    done = run(stub, "reward", "golden", "add", "rew_1", "--file", "cases.yaml", cwd=tmp_path)
    assert done.returncode == 2
    assert place in done.stderr
    assert stub.requests == []


def test_one_case_from_options(stub: StubServer) -> None:
    stub.on("POST", "/rewards/rew_1/golden-cases", Answer(201, {"object": "list", "data": [CASE]}))
    done = run(
        stub, "reward", "golden", "add", "rew_1", "--completion", "4", "--item", '{"a": 1}', "--least", "0.5"
    )
    assert (done.returncode, done.stdout.strip()) == (0, "gold_1")
    assert stub.requests[0].json == {
        "cases": [{"item": {"a": 1}, "completion": "4", "expect": {"least": 0.5}}]
    }
