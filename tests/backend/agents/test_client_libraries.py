"""Unmodified client libraries: what the engine sampled for them is one conversation, token for token."""

import os
from pathlib import Path

import pytest

from scripts.agent_clients import FOLDER as CLIENTS
from scripts.agent_clients import is_installed
from scripts.openai_sdks import FOLDER as SDKS
from tests.backend.agents.rollouts import agent_trainer
from tests.backend.agents.table_trainer import (
    RunnerThread,
    TurnEngine,
    TurnTemplate,
    check_one_branch,
    sampled,
)
from tests.backend.server import Backend

pytestmark = pytest.mark.usefixtures("rpc_backend")

CALL = '<tool_call>\n{"name": "note", "arguments": {"number": 5}}\n</tool_call>'
TWO_CALLS = (
    'Two more, "naïve" ✓.\n'
    '<tool_call>\n{"arguments":{"number":1.0,"why":"é \\"q\\""}, "name":"note"}\n</tool_call>\n'
    '<tool_call>\n{"name": "note", "arguments": {}}\n</tool_call>'
)
TURNS = (CALL, TWO_CALLS, "done")
REASONING = "<think>\nA number is needed.\n</think>\n\n"


def run(backend: Backend, monkeypatch: pytest.MonkeyPatch, library: Path, target: str, *turns: str) -> None:
    path = [str(library), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))
    attempt = agent_trainer(backend)
    runner = RunnerThread(backend, attempt.claimed["job"], target)
    runner.start()
    engine = TurnEngine()
    try:
        groups = sampled(backend, attempt, engine, 1, TurnTemplate(*turns))
    finally:
        attempt.end("failed", reason="test_over")
        runner.join(60)
    check_one_branch(engine, groups[0], len(turns))


@pytest.mark.skipif(not (SDKS / "3" / "complete").exists(), reason="scripts/openai_sdks.py installs it")
@pytest.mark.parametrize(
    ("function", "turns"),
    [
        ("respond", [REASONING + turn for turn in TURNS]),
        pytest.param("play", [REASONING + turn for turn in TURNS], marks=pytest.mark.long),
    ],
)
def test_openai(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, function: str, turns: tuple[str, ...]
) -> None:
    run(backend, monkeypatch, SDKS / "3", f"openai_agent:{function}", *turns)


@pytest.mark.long
@pytest.mark.parametrize(
    ("library", "target", "turns"),
    [
        ("openai-agents", "agents_sdk_agent:play", [REASONING + turn for turn in TURNS]),
        ("openai-agents", "agents_sdk_agent:stream", [REASONING + turn for turn in TURNS]),
        ("openai-agents", "agents_sdk_agent:complete", TURNS),
        ("langgraph", "langgraph_agent:play", TURNS),
        ("langgraph", "langgraph_agent:respond", TURNS),
        ("verifiers", "verifiers_agent:play", TURNS),
    ],
)
def test_libraries(
    backend: Backend, monkeypatch: pytest.MonkeyPatch, library: str, target: str, turns: tuple[str, ...]
) -> None:
    if not is_installed(library):
        pytest.skip(f"scripts/agent_clients.py {library} installs it")
    run(backend, monkeypatch, CLIENTS / library, target, *turns)
