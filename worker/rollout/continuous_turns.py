"""Runs conversations that do not wait for each other, on an engine that takes requests while it samples."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from worker.environment.base import Conversation, Environment
from worker.rollout.engine import ContinuousEngine, Generated, GenerateRequest, Interrupted, RequestQueue

MOST_BATCHES = 8
"""Most concurrent `answer` calls of the environment. Turns that end meanwhile share the next call."""

Turn = tuple[int, Conversation]
"""A group's number, and one of its conversations."""


@dataclass(frozen=True, slots=True)
class ContinuousTurns:
    engine: ContinuousEngine
    environment: Environment
    written: Callable[[Sequence[Conversation], Generated], list[Conversation]]
    """Adds the turns that the engine sampled to a group's conversations. Raises Interrupted."""
    next_request: Callable[[int, Conversation], GenerateRequest]

    async def run(
        self,
        groups: dict[int, list[Conversation]],
        requests: Sequence[GenerateRequest],
        on_turn: Callable[[], None],
    ) -> AsyncGenerator[tuple[int, list[Conversation]], None]:
        queue = RequestQueue(requests)
        generated = self.engine.generate_from(queue)
        sampling = asyncio.create_task(_next(generated))
        answering: set[asyncio.Task[list[Turn]]] = set()
        turns: list[Turn] = []
        try:
            while groups:
                done, _ = await asyncio.wait({sampling, *answering}, return_when=asyncio.FIRST_COMPLETED)
                if sampling in done:
                    turns += self._turns(groups, sampling.result())
                    on_turn()
                    sampling = asyncio.create_task(_next(generated))
                for task in answering & done:
                    answering.discard(task)
                    for number in self._continue(groups, task.result(), queue):
                        yield number, groups.pop(number)
                if turns and len(answering) < MOST_BATCHES:
                    answering.add(asyncio.create_task(self._answer(turns)))
                    turns = []
        finally:
            sampling.cancel()
            # Tools that run are waited for, so that none outlives the step.
            await asyncio.gather(sampling, *answering, return_exceptions=True)
            await generated.aclose()

    def _turns(self, groups: dict[int, list[Conversation]], generated: Generated | None) -> list[Turn]:
        if generated is None:
            raise Interrupted  # while no request was running
        number = generated.request.tag
        return [(number, conversation) for conversation in self.written(groups[number], generated)]

    async def _answer(self, turns: Sequence[Turn]) -> list[Turn]:
        numbers = [number for number, _ in turns]
        answered = await self.environment.answer([conversation for _, conversation in turns])
        return list(zip(numbers, answered, strict=True))

    def _continue(
        self, groups: dict[int, list[Conversation]], turns: Sequence[Turn], queue: RequestQueue
    ) -> list[int]:
        ended = []
        for number, conversation in turns:
            group = groups[number]
            group[conversation.sample_no - group[0].sample_no] = conversation
            if conversation.finish_reason is None:
                queue.add(self.next_request(number, conversation))
            elif all(other.finish_reason is not None for other in group):
                ended.append(number)
        return ended


async def _next(generated: AsyncGenerator[Generated, None]) -> Generated | None:
    return await anext(generated, None)
