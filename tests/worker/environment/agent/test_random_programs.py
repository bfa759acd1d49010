"""128 programs at once, of which a tenth die, a tenth of calls is retried and a tenth rewrites the history.

Tokens are unique, so that a token that was sampled for another rollout, twice, or not at all is recognized.
"""

import random
from collections import Counter
from collections.abc import Generator, Iterator

import pytest

from tests.worker.environment.agent.surroundings import (
    FIRST_SAMPLED,
    Message,
    assistant,
    graph,
    ids_of,
    request,
    result,
    sampled,
)
from worker.environment.agent.calls import CallAnswer
from worker.environment.agent.graph import CaptureGraph

PROGRAMS, TURNS, CHANCE = 128, 6, 0.1


class Died(Exception):
    pass


class Program:
    """A program with sub-agents that run at the same time; each wait lets others continue."""

    def __init__(self, number: int, chance: random.Random) -> None:
        self.capture: CaptureGraph = graph(rollout=str(number))
        self.chance = chance
        self.dies = chance.random() < CHANCE
        self.counts_retries = chance.random() < 0.5
        self.requests = 0
        self.engine: list[CallAnswer] = []
        self.received: list[CallAnswer] = []
        self.rewritten = 0

    def conversation(self, system: str, depth: int = 0) -> Generator[None, None, None]:
        history: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": "Task"}]
        for turn in range(TURNS):
            answer = yield from self.call(history)
            history = [*history, answer, result(f"{self.chance.random()}")]
            if self.chance.random() < CHANCE:
                self.rewritten += 1
                history = [history[0], {"role": "user", "content": f"Summary {self.chance.random()}"}]
            if depth == 0 and self.chance.random() < CHANCE:
                yield from alternating(
                    self.chance,
                    [self.conversation(f"Helper {turn}.{helper} of {system}", 1) for helper in range(2)],
                )

    def call(self, history: list[Message]) -> Generator[None, None, Message]:
        """The answer to one request, which is sent again until it arrives."""
        self.requests += 1
        retries = 0
        while True:
            count = retries if self.counts_retries else None
            call, new = self.capture.open(request(*history, retry_count=count))
            assert new is (retries == 0)
            if new:
                self.capture.set_prompt(call, ids_of(call.new_messages))
            yield
            if self.lost():
                self.capture.abandon(call)
                retries += 1
                continue
            if call.answer is None:
                tokens = self.chance.randint(1, 5)
                text = f"answer {self.chance.randrange(3)}"
                answer = sampled(call, assistant(text), tokens)
                self.engine.append(answer)
                self.capture.answer(call, answer)
            assert call.answer is not None
            yield
            if self.lost():
                self.capture.abandon(call)
                retries += 1
                continue
            self.received.append(call.answer)
            return dict(call.answer.message)

    def lost(self) -> bool:
        """Whether the connection breaks; the program may die with it."""
        if self.dies and self.chance.random() < CHANCE:
            raise Died
        return self.chance.random() < CHANCE


def alternating(chance: random.Random, running: list[Generator[None, None, None]]) -> Iterator[None]:
    while running:
        current = chance.choice(running)
        try:
            next(current)
        except StopIteration:
            running.remove(current)
        yield


def run(programs: list[Program], chance: random.Random) -> list[Program]:
    """Run all until they end or die; returns those that died."""
    running = {program: program.conversation("Answer.") for program in programs}
    died = []
    while running:
        program = chance.choice(list(running))
        try:
            next(running[program])
        except StopIteration:
            del running[program]
        except Died:
            # The connections of a program that dies are closed: nobody receives what is on its way.
            for call in program.capture.calls:
                if call.answer is None or not any(call.answer is answer for answer in program.received):
                    program.capture.abandon(call)
            program.capture.close()
            died.append(program)
            del running[program]
    return died


@pytest.mark.parametrize("seed", range(2))
def test_no_token_is_trained_twice_or_by_another_rollout_and_none_is_missing(seed: int) -> None:
    chance = random.Random(seed)
    programs = [Program(number, random.Random(f"{seed}.{number}")) for number in range(PROGRAMS)]
    died = run(programs, chance)
    assert 3 <= len(died) <= 30
    assert sum(program.rewritten for program in programs) > 30
    assert any(len(program.capture.capture().rows) > 3 for program in programs)
    for program in programs:
        check(program)
        if program not in died:
            assert len(program.engine) == len(program.capture.calls) == program.requests, (
                "a retry samples nothing"
            )


def check(program: Program) -> None:
    capture = program.capture.capture()
    assert capture.dropped == ()
    prompts = {answer.token_ids[0]: answer for answer in program.engine}
    trained: Counter[int] = Counter()
    for row in capture.rows:
        assert row.rollout == program.capture.rollout
        before = row.prompt_ids
        for segment in row.completion:
            if segment.by == "policy":
                trained.update(segment.token_ids)
                answer = prompts[segment.token_ids[0]]
                assert (before, segment.token_ids) == (answer.prompt_ids, answer.token_ids)
                assert segment.sampler_logprobs == answer.sampler_logprobs
            else:
                assert max(segment.token_ids) < FIRST_SAMPLED
            before += segment.token_ids
    assert trained == Counter(token for answer in program.received for token in answer.token_ids)
    if capture.rows:
        assert sum(row.share for row in capture.rows) == pytest.approx(1)
