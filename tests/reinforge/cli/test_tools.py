"""`reinforge tools schema` and `reinforge tools try`."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.backend.server import Backend
from tests.support.command_line import Cli

ADD = 'def add(a: int, b: int = 1) -> int:\n    """Add two numbers."""\n    return a + b\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tools.py"
    path.write_text(ADD, encoding="utf-8")
    return path


def test_schema_shows_what_the_model_reads(run: Cli, file: Path) -> None:
    printed = run("tools", "schema", str(file))
    assert (printed.code, printed.out.split("\n")[:2]) == (0, ["add(a, b?)", "    Add two numbers."])
    file.write_text("def add(a):\n    return a\n", encoding="utf-8")
    broken = run("tools", "schema", str(file))
    assert broken.code == 1 and "tools.py, line 1: add has no docstring." in broken.err


def test_try_runs_one_call_on_a_row(run: Cli, backend: Backend, file: Path) -> None:
    requests: list[dict[str, Any]] = []

    def answer(payload: dict[str, Any]) -> dict[str, Any]:
        requests.append(payload["run"])
        [call] = payload["run"]["calls"]
        failed = '"a": 0' in call["arguments"]
        result = call | {
            "id": "call_0",
            "status": "exception" if failed else "ok",
            "result": "3",
            "milliseconds": 2,
        }
        return {"jail": "L", "calls": [result], "history": []}

    with backend.rpc_worker(run_tools=answer):
        printed = run("tools", "try", str(file), "add", '{"a": 2}', "--item", '{"row": 7}')
        assert (printed.code, printed.out.strip()) == (0, "3") and "ok 2.0 ms" in printed.err
        [sent] = requests
        assert sent["item"] == {"row": 7} and json.loads(sent["calls"][0]["arguments"]) == {"a": 2}
        assert run("tools", "try", str(file), "add", '{"a": 0}').code == 1
        assert run("tools", "try", str(file), "add", "[]").code == 2
