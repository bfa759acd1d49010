"""Jobs whose rollouts are run by programs with several conversations, on a tiny model."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch

from reinforge.environment_spec import AgentSpec
from tests.support.small_jobs import SmallJob, small_spec
from tests.support.tiny_models import write_tiny_model
from tests.worker.rollout.agent_programs import Exchange, Play, Program, Template, rewriting, with_sub_agents
from worker.environment.agent.texts import ModelCallTexts
from worker.models.rendering import Rendered
from worker.rollout.agents import AgentSampler

CONTEXT, FIRST_ID = 200, 10


class ShortTemplate(Template):
    """A token for each message, and one for each of its characters."""

    def render(self, conversations: Sequence[Any], max_tokens: int) -> list[Rendered]:
        rows = [tuple(_ids(messages)) for messages, _ in conversations]
        return [Rendered("", row if len(row) <= max_tokens else (), len(row)) for row in rows]

    def raw(self, rows: Sequence[Sequence[int]]) -> list[str]:
        return ["".join(chr(id + 100) for id in row) for row in rows]

    completions = raw

    def suffixes(self, tools: Any, stop_ids: Any, turns: Sequence[Any]) -> list[list[int]]:
        return [_ids(messages) for messages, _ in turns]


def _ids(messages: Sequence[Any]) -> list[int]:
    texts = [f"{message['role'][0]}{message['content']}" for message in messages]
    return [FIRST_ID + ord(character) % 200 for character in "".join(texts)]


def agent_job(folder: Path, model: Path, play: Play, resume: bytes | None = None) -> SmallJob:
    spec = small_spec(
        environment={"type": "agent", "max_turn_tokens": 6},
        rollout__max_completion_tokens=60,
        evaluation__rows=1,
        limits__steps=2,
        limits__checkpoint_every=1,
    )
    assert isinstance(spec.environment, AgentSpec)

    def sampler(job: SmallJob) -> AgentSampler:
        assert isinstance(spec.environment, AgentSpec)
        texts = ModelCallTexts(ShortTemplate(), job.stop_ids, CONTEXT)
        exchange = Exchange(play)
        return AgentSampler(
            job.engine, exchange, texts, spec.environment, context=CONTEXT, most=60, warn=lambda line: None
        )

    return SmallJob(
        folder,
        model,
        spec,
        grade=lambda row: row.sample["environment_reward"],
        sampler=sampler,
        resume=resume,
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("model"))


def tables(job: SmallJob) -> list[list[dict[str, Any]]]:
    return [pq.read_table(io.BytesIO(job.blob(record))).to_pylist() for record in job.records("rollouts")]


@pytest.mark.parametrize("play", [rewriting, with_sub_agents])
def test_all_conversations_are_trained_behind_the_prompts_that_the_engine_read(
    tmp_path: Path, model: Path, play: Play
) -> None:
    job = agent_job(tmp_path / "a", model, play)
    before = {key: tensor.clone() for key, tensor in job.policy.state().adapter.items()}
    assert job.train().outcome == "succeeded"
    assert any(not torch.equal(tensor, before[key]) for key, tensor in job.policy.state().adapter.items())
    train = [record for record in job.records("rollouts") if record.split == "train"]
    assert [len(record.rows) for record in train] == [12, 12]
    for record in job.records("step_metrics"):
        assert record.values["rollout/forks_share"] == 1.0
        assert record.values["reward/mean"] == pytest.approx(3 / 8)
    for rows in tables(job):
        check(rows)


def check(rows: list[dict[str, Any]]) -> None:
    """Three conversations of each rollout, scored by the trainer as by the sampler."""
    assert len({(row["prompt_no"], row["sample_no"]) for row in rows}) == len(rows)
    for row in rows:
        conversations = [*row["branches"], row]
        assert len(conversations) == 3
        assert sorted(part["branch"] for part in conversations) == [0, 1, 2]
        assert row["length"] == sum(sum(part["mask"]) for part in conversations)
        for part in conversations:
            assert len(part["mask"]) == len(part["token_ids"]) == len(part["sampler_logprobs"])
            if part["trainer_logprobs"] is not None:
                by_policy = torch.tensor(part["mask"])
                gaps = torch.tensor(part["trainer_logprobs"]) - torch.tensor(part["sampler_logprobs"])
                assert float(gaps[by_policy].abs().max()) < 1e-3


def test_a_job_resumes_after_a_step_with_several_conversations(tmp_path: Path, model: Path) -> None:
    """A step is repeated as a whole: a resume state has no rollout of it."""
    steps: list[int] = []

    async def die_in_step_2(program: Program) -> float:
        steps.append(program.task.step)
        if program.task.step == 2:
            program.exchange.fail(ConnectionError("the trainer ends here"))
        return await rewriting(program)

    job = agent_job(tmp_path / "a", model, die_in_step_2)
    with pytest.raises(ConnectionError):
        job.train()
    (state,) = job.records("resume_state_saved")
    rest = agent_job(tmp_path / "b", model, rewriting, resume=job.blob(state))
    assert rest.position.step == 1 and rest.position.ahead is None
    assert rest.train().outcome == "succeeded"
    assert [record.step for record in rest.records("step_metrics")] == [2]
    check(tables(rest)[0])
