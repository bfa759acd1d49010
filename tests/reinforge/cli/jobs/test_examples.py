"""`reinforge example …`, against a real HTTP server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reinforge.offline.examples import find
from tests.reinforge.cli.test_commands import run
from tests.support.stub_server import Answer, StubServer


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    summary: dict[str, Any] = find("rubric").summary.model_dump(mode="json") | {
        "result": {
            "base": 0.412, "tuned": 0.958, "parts": {}, "length": [27.0, 48.0], "steps": 60, "seconds": 131.0,
            "machine": "2 cores", "date": "2026-11-27", "commit": "abc",
        }
    }  # fmt: skip
    server.on("GET", "/examples", Answer(200, {"object": "list", "data": [summary], "has_more": False}))
    yield server
    server.close()


def test_the_list_shows_what_was_measured(stub: StubServer) -> None:
    done = run(stub, "example", "list")
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stdout.splitlines() if "rubric" in line]
    assert "0.412" in line and "0.958" in line and "131 s" in line


def test_files_are_printed_and_copied_without_a_server(stub: StubServer, tmp_path: Path) -> None:
    assert run(stub, "example", "show", "rubric").stdout.startswith("# Rubric with a judge")
    done = run(stub, "example", "copy", "rubric", str(tmp_path / "mine"))
    assert (done.returncode, done.stdout.strip()) == (0, str(tmp_path / "mine"))
    copied = {path.name for path in (tmp_path / "mine").iterdir()}
    assert {"job.yaml", "reward.py", "train.jsonl", "heldout.jsonl", "README.md"} <= copied
    again = run(stub, "example", "copy", "rubric", str(tmp_path / "mine"))
    assert again.returncode != 0


def test_an_unknown_name_names_the_nearest(stub: StubServer) -> None:
    done = run(stub, "example", "show", "rubrik")
    assert done.returncode != 0
    assert "no example rubrik" in done.stderr and "Did you mean rubric?" in done.stderr
