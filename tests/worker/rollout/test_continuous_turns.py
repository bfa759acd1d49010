"""Conversations on an engine whose requests do not wait for each other."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from worker.environment.base import Conversation, Environment, PolicyTurn, Prompt, Segment
from worker.rollout.conversations import ConversationSampler, Round
from worker.rollout.engine import (
    ContinuousEngine,
    Generated,
    GenerateRequest,
    Interrupted,
    RequestQueue,
    Sample,
    Sampling,
)
from worker.rollout.noise import Stream

TURNS = 3
ROUND = Round("policy", 3, 9, Stream.TRAIN, 4, 2, Sampling(8, 1.0))
PROMPTS = [Prompt(n, {"n": n}, [], "", (100 + n,), f"p{n}") for n in range(3)]


class StepEngine:
    """Samples the number of its prompt's tokens."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        for request in requests:
            yield answer(request)

    def cancel(self) -> None:
        self.cancelled.set()

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None: ...

    async def rest(self) -> None: ...

    async def close(self) -> None: ...


class QueueEngine(StepEngine):
    async def generate_from(self, queue: RequestQueue) -> AsyncGenerator[Generated, None]:
        changed = asyncio.Event()
        queue.on_change = changed.set
        while True:
            for request in queue.take():
                yield answer(request)
            changed.clear()
            waits = [asyncio.create_task(event.wait()) for event in (changed, self.cancelled)]
            try:
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for wait in waits:
                    wait.cancel()
            if self.cancelled.is_set():
                return


def answer(request: GenerateRequest) -> Generated:
    sample = Sample((len(request.prompt_ids), request.noise.first_token), (-0.5, -0.5), "stop")
    return Generated(request, (sample,) * request.n)


class Tools:
    """Answers TURNS - 1 turns. tool: waits before it answers a conversation."""

    max_turns = TURNS

    def __init__(self, tool: Callable[[Conversation], asyncio.Event | None] = lambda _: None) -> None:
        self._tool = tool
        self.answered: list[tuple[int, int, int]] = []

    async def begin(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        return list(conversations)

    def room(self, conversation: Conversation) -> None:
        return None

    async def answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
        for conversation in conversations:
            if event := self._tool(conversation):
                await event.wait()
        return [self._answered(conversation) for conversation in conversations]

    def _answered(self, conversation: Conversation) -> Conversation:
        no = len(conversation.turns)
        self.answered.append((conversation.prompt_no, conversation.sample_no, no))
        end = len(conversation.token_ids)
        turns = (*conversation.turns, PolicyTurn(no, end - 2, end, conversation.text))
        if no == TURNS - 1:
            return replace(conversation, turns=turns, finish_reason="stop")
        result = Segment((conversation.prompt_no, conversation.sample_no), "tool", turn=no)
        return replace(conversation, turns=turns, segments=(*conversation.segments, result))


def sampler(engine: StepEngine, tools: Tools) -> ConversationSampler:
    return ConversationSampler(engine, cast(Environment, tools), lambda rows: [str(row) for row in rows])


async def groups(engine: StepEngine, tools: Tools) -> list[tuple[int, list[Conversation]]]:
    async with aclosing(sampler(engine, tools).groups(PROMPTS, ROUND, lambda: None)) as ended:
        return [group async for group in ended]


def test_conversations_are_those_of_an_engine_that_samples_step_by_step() -> None:
    assert isinstance(QueueEngine(), ContinuousEngine) and not isinstance(StepEngine(), ContinuousEngine)
    by_step = asyncio.run(groups(StepEngine(), Tools()))
    continuous = asyncio.run(groups(QueueEngine(), Tools()))
    assert dict(continuous) == dict(by_step)
    assert [len(conversation.turns) for conversation in dict(continuous)[0]] == [TURNS, TURNS]


def test_a_slow_tool_holds_up_its_own_conversation_alone() -> None:
    async def run() -> list[int]:
        ended, slow = [], asyncio.Event()
        tools = Tools(lambda conversation: slow if conversation.prompt_no == 0 else None)
        async with aclosing(sampler(QueueEngine(), tools).groups(PROMPTS, ROUND, lambda: None)) as arriving:
            async for number, _ in arriving:
                ended.append(number)
                if sorted(ended) == [1, 2]:
                    assert not [place for place in tools.answered if place[0] == 0]
                    slow.set()
        return ended

    assert asyncio.run(asyncio.wait_for(run(), 20))[-1] == 0


def test_it_is_interrupted_while_only_tools_run() -> None:
    async def run() -> Tools:
        engine, slow = QueueEngine(), asyncio.Event()
        tools = Tools(lambda _: slow)
        waiting = asyncio.create_task(groups(engine, tools))
        await asyncio.sleep(0.01)
        engine.cancel()
        await asyncio.sleep(0.01)
        assert not waiting.done()  # a tool that runs is waited for
        slow.set()
        with pytest.raises(Interrupted):
            await waiting
        return tools

    assert len(asyncio.run(asyncio.wait_for(run(), 20)).answered) == 6


def test_an_error_of_the_environment_ends_the_step() -> None:
    class Broken(Tools):
        async def answer(self, conversations: Sequence[Conversation]) -> list[Conversation]:
            raise RuntimeError("the sandbox is gone")

    with pytest.raises(RuntimeError, match="the sandbox is gone"):
        asyncio.run(asyncio.wait_for(groups(QueueEngine(), Broken()), 20))
