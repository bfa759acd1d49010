"""Requests dealt out between engines: all are answered once, also when an engine is lost."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from worker.rollout.cpu.forked_engine import EngineLost
from worker.rollout.cpu.parallel_engines import LEAST_ROWS, ParallelEngines, distribute
from worker.rollout.engine import Generated, GenerateRequest, NoiseKey, Sample, Sampling
from worker.rollout.noise import Stream


class Scripted:
    """Answers with its own name in the tokens; after `lives` answers it raises `error`."""

    def __init__(self, name: int, lives: int | None = None, error: Exception | None = None) -> None:
        self.name = name
        self.lives = lives
        self.error = error or EngineLost("it was killed")
        self.log: list[str] = []

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        for number, request in enumerate(requests):
            if number == self.lives:
                raise self.error
            self.log.append(f"answer {request.tag}")
            await asyncio.sleep(0)
            yield Generated(request, (Sample((self.name,), (0.0,), "stop"),) * request.n)

    def cancel(self) -> None:
        self.log.append("cancel")

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        if self.lives == 0:
            raise self.error
        self.log.append(f"publish {policy} {version}")

    async def rest(self) -> None:
        self.log.append("rest")

    async def close(self) -> None:
        self.log.append("close")


def ask(lengths: Sequence[int], n: int = 8) -> list[GenerateRequest]:
    sampling = Sampling(4, 1.0)
    return [
        GenerateRequest("policy", 0, (5,) * length, n, sampling, NoiseKey(0, Stream.TRAIN, 1, tag), tag)
        for tag, length in enumerate(lengths)
    ]


def answers(engine: ParallelEngines, requests: Sequence[GenerateRequest]) -> dict[int, int]:
    """Which engine answered, by tag."""

    async def run() -> list[Generated]:
        return [answer async for answer in engine.generate(requests)]

    received_answers = asyncio.run(run())
    assert len(received_answers) == len({answer.request.tag for answer in received_answers})
    return {answer.request.tag: answer.samples[0].token_ids[0] for answer in received_answers}


def test_every_engine_gets_as_much_and_long_prompts_are_spread() -> None:
    shares = distribute(ask([3, 9, 3, 9, 3, 9, 3, 9]), 2)
    assert [[len(request.prompt_ids) for request in share] for share in shares] == [[9, 9, 3, 3]] * 2
    assert sorted(request.tag for share in shares for request in share) == list(range(8))


def test_unequal_requests_are_evened_out() -> None:
    requests = [*ask([2], n=40), *ask([2] * 5, n=8)]
    assert [sum(request.n for request in share) for share in distribute(requests, 2)] == [40, 40]


@pytest.mark.parametrize(
    ("rows", "engines"), [(1, 1), (2 * LEAST_ROWS - 1, 1), (2 * LEAST_ROWS, 2), (9 * LEAST_ROWS, 4)]
)
def test_few_completions_are_not_spread(rows: int, engines: int) -> None:
    assert len(distribute(ask([2] * rows, n=1), 4)) == engines


def test_no_requests_give_no_answers() -> None:
    assert answers(ParallelEngines(Scripted(0), [Scripted(1)], print), []) == {}


def test_answers_come_from_all_engines_each_once() -> None:
    tokens = answers(ParallelEngines(Scripted(0), [Scripted(1), Scripted(2)], print), ask([2] * 12))
    assert sorted(tokens) == list(range(12))
    assert sorted(tokens.values()) == [0] * 4 + [1] * 4 + [2] * 4


@pytest.mark.parametrize("lives", [0, 1])
def test_a_lost_engine_is_left_out_and_its_requests_are_answered(lives: int) -> None:
    first, other, messages = Scripted(0), Scripted(1, lives), list[str]()
    engine = ParallelEngines(first, [other], messages.append)
    tokens = answers(engine, ask([2] * 8))
    assert sorted(tokens) == list(range(8)) and list(tokens.values()).count(1) == lives
    assert messages == ["Sampling continues with 1 processes: it was killed"] and other.log[-1] == "close"
    assert set(answers(engine, ask([2] * 8)).values()) == {0}
    assert len(messages) == 1


def test_an_engine_lost_before_a_request_is_skipped() -> None:
    first, other, messages = Scripted(0), Scripted(1, 0), list[str]()
    engine = ParallelEngines(first, [other], messages.append)
    asyncio.run(engine.publish("policy", 3))
    assert first.log == ["publish policy 3"] and len(messages) == 1
    assert set(answers(engine, ask([2] * 8)).values()) == {0}


def test_what_an_engine_raises_is_raised() -> None:
    engine = ParallelEngines(Scripted(0), [Scripted(1, 1, RuntimeError("no such version"))], print)
    with pytest.raises(RuntimeError, match="no such version"):
        answers(engine, ask([2] * 8))


def test_all_engines_rest_stop_and_close() -> None:
    engines = [Scripted(0), Scripted(1)]
    engine = ParallelEngines(engines[0], engines[1:], print)
    asyncio.run(engine.rest())
    engine.cancel()
    asyncio.run(engine.close())
    assert [scripted.log for scripted in engines] == [["rest", "cancel", "close"]] * 2
