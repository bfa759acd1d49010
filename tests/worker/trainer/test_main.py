"""The end of training closes what samples."""

import asyncio
from typing import cast

import pytest

from worker.environment.base import Environment
from worker.rewards.base import Scorer
from worker.rollout.conversations import Decode
from worker.rollout.engine import RolloutEngine
from worker.trainer.main import _closing
from worker.training.loop import RolloutSource, TrainingOutcome


class RecordingEnvironment:
    def __init__(self) -> None:
        self.closed: list[str] = []

    def close(self) -> None:
        self.closed.append("environment")


class FailingEngine:
    def __init__(self, closed: list[str]) -> None:
        self._closed = closed

    async def close(self) -> None:
        self._closed.append("engine")
        raise OSError("the socket is gone")


async def failing() -> TrainingOutcome:
    raise RuntimeError("a step failed")


def test_the_environment_is_closed_even_if_training_and_the_engine_fail() -> None:
    environment = RecordingEnvironment()
    engine = cast(RolloutEngine, FailingEngine(environment.closed))
    rollouts = RolloutSource(
        engine, cast(Environment, environment), cast(Scorer, None), cast(Decode, None), ()
    )
    ending = _closing(rollouts, failing())
    with pytest.raises(OSError, match="socket"):
        asyncio.run(ending)
    assert environment.closed == ["engine", "environment"]
