"""Jobs whose environments an OpenEnv server runs, on a tiny model whose turns act at random."""

from pathlib import Path
from typing import Any

import pytest

from reinforge.environment_spec import OpenEnvSource
from reinforge.spec import JobSpec
from tests.support.openenv_stub import Fault, OpenEnvStub, observation
from tests.support.small_jobs import SmallJob
from tests.support.tiny_models import write_tiny_model
from tests.worker.training.test_tools_environment import adapters, equal, tools_job, tools_spec
from worker.environment.tools.runner import Tools
from worker.environment.tools.servers import ToolServers
from worker.sandbox.outcome import RewardRow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


def scored(row: RewardRow) -> float:
    rewards = [message.get("reward", 0.0) for message in row.sample["messages"] if message["role"] == "tool"]
    assert row.sample["environment_reward"] == sum(rewards)
    assert row.sample["messages"][0]["content"].endswith("\n\nGuess a number below 10.")
    return float(row.sample["environment_reward"])


def even_is_right(stub: OpenEnvStub, message: dict[str, Any]) -> Fault | None:
    """So that a random model is sometimes right."""
    number = message["data"].get("number") if message["type"] == "step" else None
    if number is None:
        return None
    return Fault(observation({"hint": "Right!"}, 1.0, True)) if number % 2 == 0 else None


def attempt(
    folder: Path, model: Path, stub: OpenEnvStub, spec: JobSpec, resume: bytes | None = None
) -> SmallJob:
    servers = ToolServers({0: OpenEnvSource(url=stub.url, action="note")}, None, secret=lambda _: None)
    job = tools_job(folder, model, spec, Tools({"server": servers.by_number[0]}), grade=scored, resume=resume)
    try:
        assert job.train().outcome == "succeeded"
    finally:
        servers.close()
    return job


def test_rewards_of_the_environment_train_and_a_resumed_step_begins_its_episodes_again(
    tmp_path: Path, model: Path
) -> None:
    source = {"openenv": "http://127.0.0.1", "tools": [{"function": {"name": "note"}}]}
    spec = tools_spec(
        environment={"type": "tools", "sources": [source], "max_turns": 4},
        limits__steps=2,
        limits__checkpoint_every=1,
        evaluation__rows=0,
        data__held_out_rows=0,
    )
    with OpenEnvStub(even_is_right) as stub:
        whole = attempt(tmp_path / "whole", model, stub, spec)
        assert stub.open_sessions == 0
        episodes = {data["episode_id"] for data in stub.sent("reset")}
        assert len(episodes) > 6 and len(stub.sent("step")) > 10
        state = whole.blob(whole.records("resume_state_saved")[0])
        stub.messages.clear()
        rest = attempt(tmp_path / "rest", model, stub, spec, state)
        assert {data["episode_id"] for data in stub.sent("reset")} < episodes | {"probe-0", "probe-1"}
        assert equal(adapters(whole), adapters(rest))
        ends = [row.finish_reason for record in whole.records("rollouts") for row in record.rows]  # type: ignore[union-attr]
        assert "environment" in ends
