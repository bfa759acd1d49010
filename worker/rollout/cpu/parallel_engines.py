"""Several engines of one policy in parallel: this process and forks of it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from worker.rollout.cpu.forked_engine import EngineLost, ForkedEngine, SharedWeights
from worker.rollout.engine import Generated, GenerateRequest, RolloutEngine

LEAST_ROWS = 24


def process_count(cores: int, prompts: int, completions: int) -> int:
    """Number of processes: at most one per core, per prompt and per LEAST_ROWS completions."""
    return max(1, min(cores, prompts, prompts * completions // LEAST_ROWS))


def with_forks(
    engine: RolloutEngine,
    processes: int,
    weights: SharedWeights,
    warn: Callable[[str], None],
    *,
    first_samples: bool = True,
) -> "ParallelEngines":
    """Run an engine in `processes` processes. first_samples: whether this process is one of them."""
    forks = list[RolloutEngine]()
    try:
        while len(forks) < processes - first_samples:
            forks.append(ForkedEngine(engine, weights))
    except OSError as error:  # a limit on processes, or on memory that the system promises
        count = max(1, len(forks) + first_samples)
        warn(f"Sampling with {count} processes instead of {processes}: {error}")
    return ParallelEngines(engine, forks, warn, first_samples=first_samples)


class ParallelEngines:
    """`RolloutEngine` over equal engines. If one is lost, `first` answers its open requests."""

    def __init__(
        self,
        first: RolloutEngine,
        others: Sequence[RolloutEngine],
        warn: Callable[[str], None],
        *,
        first_samples: bool = True,
    ) -> None:
        self._first = first
        self._others = list(others)
        self._warn = warn
        self._first_samples = first_samples

    @property
    def processes(self) -> int:
        return len(self._sampling)

    async def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        open_requests = {id(request): request for request in requests}
        shares = distribute(requests, self.processes)
        async with aclosing(self._answers(shares)) as answers:
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
                await self._remove(engine, error)

    async def rest(self) -> None:
        for engine in self._engines:
            await engine.rest()

    async def close(self) -> None:
        for engine in self._engines:
            await engine.close()

    @property
    def _engines(self) -> list[RolloutEngine]:
        return [self._first, *self._others]

    @property
    def _sampling(self) -> list[RolloutEngine]:
        return self._engines if self._first_samples or not self._others else self._others

    async def _answers(self, shares: Sequence[Sequence[GenerateRequest]]) -> AsyncGenerator[Generated, None]:
        arrived: asyncio.Queue[Generated | Exception | None] = asyncio.Queue()

        async def run(engine: RolloutEngine, share: Sequence[GenerateRequest]) -> None:
            end: Exception | None = None
            try:
                async with aclosing(engine.generate(share)) as answers:
                    async for answer in answers:
                        arrived.put_nowait(answer)
            except EngineLost as error:
                await self._remove(engine, error)
            except Exception as error:  # noqa: BLE001 - raised below
                end = error
            arrived.put_nowait(end)

        # Forks first: the engine of this process blocks the event loop until its first token.
        pairs = list(zip(self._sampling, shares, strict=False))
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

    async def _remove(self, engine: RolloutEngine, error: EngineLost) -> None:
        self._others.remove(engine)
        await engine.close()
        self._warn(f"Sampling continues with {self.processes} processes: {error}")


def distribute(requests: Sequence[GenerateRequest], engines: int) -> list[list[GenerateRequest]]:
    """Assign requests to engines, longest prompts first. Equal requests get equal assignments."""
    rows = sum(request.n for request in requests)
    shares: list[list[GenerateRequest]] = [[] for _ in range(max(1, min(engines, rows // LEAST_ROWS)))]
    counts = [0] * len(shares)
    for request in sorted(requests, key=lambda request: -len(request.prompt_ids)):
        least = counts.index(min(counts))
        shares[least].append(request)
        counts[least] += request.n
    return shares
