"""What rewards read of a completion."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterable, Sequence
from typing import Any, cast

import pytest

from worker.environment.base import Prompt
from worker.environment.single_turn import SingleTurn
from worker.rewards.base import Group, Score, Scorer
from worker.rollout.collect import Collector
from worker.rollout.conversations import CallTexts, Round
from worker.rollout.engine import Generated, GenerateRequest, RolloutEngine, Sample, Sampling
from worker.rollout.noise import Stream

MARKED = {
    "gemma": "<|tool_call>call:add{a:1}<tool_call|><turn|>",
    "python_list": "<|tool_call_start|>[add(a=1)]<|tool_call_end|><|im_end|>",
}
"""Completions with their special tokens."""
ADD = {"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}


class Engine:
    """Samples one token."""

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        for request in requests:
            yield Generated(request, (Sample((7,), (0.0,), "stop"),) * request.n)


class Samples:
    """A scorer that keeps what it is given."""

    def __init__(self) -> None:
        self.samples: list[dict[str, Any]] = []

    async def score(self, groups: AsyncIterable[Group]) -> AsyncGenerator[tuple[int, list[Score]], None]:
        async for group in groups:
            self.samples += [dict(scorable.sample) for scorable in group.samples]
            yield group.key, [Score((), None, False) for _ in group.samples]


@pytest.mark.parametrize("notation", MARKED)
def test_calls_marked_by_special_tokens_are_in_the_sample(notation: str) -> None:
    scorer = Samples()
    collector = Collector(
        cast(RolloutEngine, Engine()),
        SingleTurn(),
        cast(Scorer, scorer),
        lambda rows: ["add(a=1)" for _ in rows],
        CallTexts(notation, lambda rows: [MARKED[notation] for _ in rows]),
    )
    prompts = [Prompt(n, {}, [], "x", (1,), str(n), tools) for n, tools in enumerate(([ADD], None))]
    sampling_round = Round(None, 0, 1, Stream.TRAIN, 0, 1, Sampling(4, 1.0))
    asyncio.run(collector.collect(prompts, sampling_round, lambda *_: None))
    with_tools, without = scorer.samples
    [call] = with_tools["output_tools"]
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("add", {"a": 1})
    assert with_tools["choices"][0]["message"]["content"] is None
    assert without == {}
