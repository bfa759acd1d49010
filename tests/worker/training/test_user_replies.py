"""Jobs with a simulated user, on a tiny model whose turns are answers or calls at random."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from reinforge.spec import JobSpec
from tests.support.tiny_models import write_tiny_model
from tests.support.tool_texts import NOTE, PlainRunner
from tests.worker.training.test_tools_environment import (
    adapters,
    equal,
    reported_steps,
    tools_job,
    tools_spec,
    values,
)
from worker.environment.tools.base import ReplyRequest, ToolResult
from worker.sandbox.outcome import RewardRow
from worker.training.batch import StepBatch
from worker.training.credit import Credit


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


def talking_spec(**changes: Any) -> JobSpec:
    user = {"type": "python", "source": "def reply(messages, item, state): ..."}
    sources = [{"type": "python", "source": NOTE}]
    settings = {"type": "tools", "sources": sources, "reply": user, "max_turns": 4}
    return tools_spec(environment=settings, evaluation__rows=0, data__held_out_rows=0, **changes)


def turns_of_the_user(row: RewardRow) -> float:
    return float(sum(message["role"] == "user" for message in row.sample["messages"]))


def test_replies_are_read_and_not_trained(tmp_path: Path, model: Path) -> None:
    runner, steps = PlainRunner(), list[tuple[StepBatch, Credit]]()
    job = tools_job(tmp_path, model, talking_spec(limits__steps=1), runner, grade=turns_of_the_user)
    with reported_steps(steps):
        assert job.train().outcome == "succeeded"
    ((batch, _),) = steps
    replied = 0
    for row, rollout in enumerate(batch.rollouts):
        by_user = [segment for segment in rollout.completion if segment.by == "user"]
        assert sum(segment.by == "policy" for segment in rollout.completion) == len(rollout.turns)
        start = 0
        for segment in rollout.completion:
            trained = batch.rows.mask[row, start : start + len(segment.token_ids)]
            assert bool(trained.all()) == bool(trained.any()) == (segment.by == "policy")
            start += len(segment.token_ids)
        users = [message for message in rollout.messages if message["role"] == "user"]
        assert rollout.score is not None and rollout.score.results[0].value == 1 + len(users)
        replied += len(by_user)
    assert replied > 5 and {rollout.finish_reason for rollout in batch.rollouts} >= {
        "environment",
        "max_turns",
    }
    assert len(runner.replies) <= 4 and any(runner.requests)
    assert values(job.records("step_metrics")[0])["finish/environment"] > 0


class DyingUser(PlainRunner):
    def __init__(self, replies: int) -> None:
        super().__init__()
        self._left = replies

    def reply(self, requests: Sequence[ReplyRequest]) -> list[ToolResult]:
        self._left -= 1
        if self._left < 0:
            raise ConnectionError("the process ends here")
        return super().reply(requests)


def test_a_job_that_ends_within_a_reply_and_resumes_is_equal_to_the_bit(tmp_path: Path, model: Path) -> None:
    spec, runner = talking_spec(limits__steps=3, limits__checkpoint_every=1), PlainRunner()
    complete = tools_job(tmp_path / "whole", model, spec, runner)
    complete.train()
    dying = tools_job(tmp_path / "a", model, spec, DyingUser(len(runner.replies) - 2))
    with pytest.raises(ConnectionError):
        dying.train()
    state = dying.blob(dying.records("resume_state_saved")[-1])
    rest = tools_job(tmp_path / "b", model, spec, PlainRunner(), resume=state)
    assert rest.position.step > 0
    rest.train()
    assert equal(adapters(complete), adapters(rest))
