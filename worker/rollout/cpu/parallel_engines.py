"""Several engines of one policy in parallel: requests are distributed over them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from worker.rollout.cpu.forked_engine import EngineLost
from worker.rollout.engine import Generated, GenerateRequest, RolloutEngine

LEAST_ROWS = 24
"""Fewest completions per engine: smaller batches are not faster."""


class SideBySide:
    """`RolloutEngine` over several that answer alike. One that is lost is left out from then on: `first` does what it
    had left, and `say` tells it."""

    def __init__(
        self, first: RolloutEngine, others: Sequence[RolloutEngine], say: Callable[[str], None]
    ) -> None:
        self._first = first
        self._others = list(others)
        self._say = say

    @property
    def processes(self) -> int:
        return len(self._engines)

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        open_requests = {id(request): request for request in requests}
        dealt = deal(requests, 1 + len(self._others))
        async with aclosing(self._together(dealt)) as answers:
            async for answer in answers:
                del open_requests[id(answer.request)]
                yield answer
        if open_requests:
            async with aclosing(self._first.generate(list(open_requests.values()))) as answers:
                async for answer in answers:
                    yield answer

    def cancel(self) -> None:
        for engine in self._engines:
            engine.cancel()

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        for engine in self._engines:
            try:
                await engine.publish(policy, version, path)
            except EngineLost as error:
                await self._leave_out(engine, error)

    async def rest(self) -> None:
        for engine in self._engines:
            await engine.rest()

    async def close(self) -> None:
        for engine in self._engines:
            await engine.close()

    @property
    def _engines(self) -> list[RolloutEngine]:
        return [self._first, *self._others]

    async def _together(self, dealt: Sequence[Sequence[GenerateRequest]]) -> AsyncGenerator[Generated, None]:
        """Answers of all engines as they come, without those of one that is lost. Raises what an engine raises."""
        arrived: asyncio.Queue[Generated | Exception | None] = asyncio.Queue()

        async def run(engine: RolloutEngine, share: Sequence[GenerateRequest]) -> None:
            end: Exception | None = None
            try:
                async with aclosing(engine.generate(share)) as answers:
                    async for answer in answers:
                        arrived.put_nowait(answer)
            except EngineLost as error:
                await self._leave_out(engine, error)
            except Exception as error:  # noqa: BLE001 - raised below, where the answers are taken
                end = error
            arrived.put_nowait(end)

        # Those elsewhere first: the engine of this process leaves others no turn before its first token.
        pairs = list(zip(self._engines, dealt, strict=False))
        tasks = [asyncio.create_task(run(engine, share)) for engine, share in reversed(pairs)]
        running = len(tasks)
        try:
            while running:
                answer = await arrived.get()
                if isinstance(answer, Exception):
                    raise answer
                if answer is None:
                    running -= 1
                else:
                    yield answer
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _leave_out(self, engine: RolloutEngine, error: EngineLost) -> None:
        self._others.remove(engine)
        await engine.close()
        self._say(f"Sampling goes on with {self.processes} processes: {error}")


def deal(requests: Sequence[GenerateRequest], engines: int) -> list[list[GenerateRequest]]:
    """Whole requests for as many engines as there is enough for, at least one; a function of the requests alone.

    Longest prompts go first, in turns, each to the engine with the fewest completions so far.
    """
    rows = sum(request.n for request in requests)
    shares: list[list[GenerateRequest]] = [[] for _ in range(max(1, min(engines, rows // LEAST_ROWS)))]
    counts = [0] * len(shares)
    for request in sorted(requests, key=lambda request: -len(request.prompt_ids)):
        least = counts.index(min(counts))
        shares[least].append(request)
        counts[least] += request.n
    return shares
