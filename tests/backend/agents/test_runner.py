"""The runner with OpenAI's SDK against a server, and a sampler whose engine is a table."""

import os
import time
from pathlib import Path

import pytest

from reinforge.client import Reinforge
from reinforge.errors import InvalidInput, NotFound
from reinforge.runner.runner import RolloutRunner, RunnerCounts
from reinforge.runner.slot import run as run_program
from scripts.openai_sdks import FOLDER
from tests.backend.agents.rollouts import agent_trainer, offer
from tests.backend.agents.table_trainer import RunnerThread, sampled
from tests.backend.server import OWNER_KEY, Backend, wait_until
from tests.worker.rollout.agent_programs import END, FIRST_SAMPLED, Engine

SDK = FOLDER / "3"

pytestmark = [
    pytest.mark.usefixtures("rpc_backend", "program_path"),
    pytest.mark.skipif(
        not (SDK / "complete").exists(), reason="scripts/openai_sdks.py installs OpenAI's SDK"
    ),
]


@pytest.fixture
def program_path(monkeypatch: pytest.MonkeyPatch) -> None:
    path = [str(SDK), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path))


def test_programs_are_trained_token_for_token(backend: Backend) -> None:
    """Unmodified OpenAI SDK, real HTTP: what the engine sampled, what was sent, and nothing twice."""
    attempt = agent_trainer(backend)
    runner = RunnerThread(backend, attempt.claimed["job"], "openai_agent:converse")
    runner.start()
    engine = Engine()
    try:
        groups = sampled(backend, attempt, engine, 4)
    finally:
        attempt.end("failed", reason="test_over")
        runner.join(60)
    answered = {request.prompt_ids + ids for request, ids in engine.sampled}
    for number in (0, 3):
        for conversation in groups[number]:
            assert [segment.by for segment in conversation.segments] == ["policy", "user", "policy"]
            assert conversation.prompt.token_ids + conversation.token_ids in answered
            policy = [s.token_ids for s in conversation.segments if s.by == "policy"]
            assert all(id >= FIRST_SAMPLED or id == END for ids in policy for id in ids)
            assert (conversation.reward, conversation.failure) == (0.25, None)
    rows = [ids for group in groups.values() for c in group for s in c.segments for ids in [s.token_ids]]
    first_tokens = [ids[0] for ids in rows if ids[0] >= FIRST_SAMPLED]
    assert len(first_tokens) == len(set(first_tokens)) == 10, "no sampled turn is in two rows"
    assert {c.failure for c in groups[1] + groups[2]} == {"agent_error"}
    assert "broken on purpose" in (groups[1][0].failure_message or "")
    assert "ended with status 3" in (groups[2][0].failure_message or "")
    assert runner.counts == RunnerCounts(succeeded=4, failed=4)
    assert backend.sql("SELECT 1 FROM agent_rollout") == []


def test_rollouts_in_one_process_have_their_own_conversations(backend: Backend) -> None:
    attempt = agent_trainer(backend)
    runner = RunnerThread(backend, attempt.claimed["job"], "shared_agent:converse", concurrency=6)
    runner.start()
    engine = Engine()
    try:
        groups = sampled(backend, attempt, engine, 3)
    finally:
        attempt.end("failed", reason="test_over")
        runner.join(60)
    conversations = [conversation for group in groups.values() for conversation in group]
    turns = [s.token_ids for c in conversations for s in c.segments if s.by == "policy"]
    assert sorted(turns) == sorted(ids for _, ids in engine.sampled) and len(turns) == 12
    assert {(c.reward, c.failure, len(c.turns)) for c in conversations} == {(0.25, None, 2)}
    assert runner.counts == RunnerCounts(succeeded=6)


def test_an_interrupted_runner_gives_its_rollouts_back(backend: Backend) -> None:
    attempt = agent_trainer(backend)
    [id] = offer(attempt)
    runner = RunnerThread(backend, attempt.claimed["job"], "openai_agent:wait", concurrency=1)
    runner.start()
    wait_until(lambda: backend.sql("SELECT 1 FROM model_call WHERE caller = %s", id), "its call")
    began = time.monotonic()
    runner.runner.stop()
    runner.join(20)
    assert time.monotonic() - began < 15
    assert backend.sql("SELECT state, try_no FROM agent_rollout WHERE id = %s", id) == [("waiting", 1)]
    wait_until(lambda: not backend.sql("SELECT 1 FROM model_call WHERE caller = %s", id), "its end")
    attempt.end("failed", reason="test_over")


def test_what_a_runner_cannot_serve(backend: Backend) -> None:
    with Reinforge(backend.url, OWNER_KEY) as client:
        with pytest.raises(InvalidInput) as missing:
            RolloutRunner(client, "ftjob-none", "openai_agent:nothing").run()
        assert missing.value.code == "agent_not_importable"
        assert "no function 'nothing'" in missing.value.message
        with pytest.raises(InvalidInput, match="cannot be imported"):
            RolloutRunner(client, "ftjob-none", "no_such_module_here:play").run()
        with pytest.raises(NotFound):
            RolloutRunner(client, "ftjob-none", "openai_agent:converse").run()


@pytest.mark.parametrize(
    ("value", "reward"), [("None", None), ("True", 1.0), ("2", 2.0), ("float('nan')", "x"), ("'1'", "x")]
)
def test_rewards_that_a_program_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, reward: object
) -> None:
    name = f"program_{abs(hash(value))}"
    (tmp_path / f"{name}.py").write_text(f"async def play(task):\n    return {value}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("OPENAI_API_KEY", "")
    outcome = run_program(f"{name}:play", {"base_url": "http://x", "api_key": "rf-ro-x"})
    if reward == "x":
        assert "return a finite number" in outcome["error"]
    else:
        assert outcome == {"reward": reward}
