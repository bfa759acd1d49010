"""Calls of tools outside a job, with the model's own tokens."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reinforge.schemas.rpc.tools import ToolRunRequest
from reinforge.schemas.tools import ToolRun, ToolRunCall, ToolRunResult
from tests.worker.sandbox.harness import running_daemon
from worker.isolated.process import Apart
from worker.models.sources import ModelStore
from worker.rpc.run_tools import run_tools
from worker.sandbox.client import SandboxClient

COUNT = 'def count(to: int) -> str:\n    """Count."""\n    return " ".join(map(str, range(to)))\n'


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxClient]:
    with running_daemon() as daemon, SandboxClient(daemon.socket) as client:
        yield client


def run(sandbox: SandboxClient, tmp_path: Path, model: str | None, *numbers: int) -> ToolRunResult:
    environment = {"type": "tools", "sources": [{"type": "python", "source": COUNT}], "max_result_tokens": 16}
    calls = [ToolRunCall(name="count", arguments=f'{{"to": {number}}}') for number in numbers]
    request = ToolRun.model_validate({"environment": environment, "calls": calls})
    apart = Apart()
    try:
        return run_tools(
            apart, ModelStore(tmp_path), sandbox, ToolRunRequest(run=request, model_source=model)
        )
    finally:
        apart.close()


def test_a_result_is_cut_to_tokens_of_the_model(sandbox: SandboxClient, tmp_path: Path) -> None:
    short, long = run(sandbox, tmp_path, "builtin:starter-tools", 3, 200).calls
    assert (short.result, short.cut) == ("0 1 2", False)
    assert long.cut and "tokens left out" in long.result and long.result.startswith("0 1")


def test_without_a_model_a_result_is_whole(sandbox: SandboxClient, tmp_path: Path) -> None:
    result = run(sandbox, tmp_path, None, 200)
    assert not result.calls[0].cut and result.calls[0].result.endswith("199")
    assert result.history[0].text == result.calls[0].result
