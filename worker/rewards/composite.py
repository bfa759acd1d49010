"""Combines a job's rewards into one scorer, which applies their `on_error`."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from worker.rewards.base import RESUME_HINT, STRANGERS, Group, RewardResult, RewardsFailed, Score
from worker.rewards.rater import Rater, RewardInput, side_by_side

Results = list[RewardResult]


@dataclass(frozen=True, slots=True)
class LiveReward:
    name: str
    weight: float
    revision: str
    on_error: Literal["drop", "zero", "pause"]
    granularity: Literal["sample", "group", "batch"]
    rater: Rater


def _nothing() -> dict[str, Any]:
    return {}


class CompositeScorer:
    def __init__(
        self,
        rewards: Sequence[LiveReward],
        *,
        metrics: Callable[[], Mapping[str, float]] = _nothing,
        state: Callable[[], dict[str, Any]] = _nothing,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        self._rewards = tuple(rewards)
        self._metrics, self._state, self._close = metrics, state, close

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(reward.name for reward in self._rewards)

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(reward.weight for reward in self._rewards)

    @property
    def revisions(self) -> dict[str, str]:
        return {reward.name: reward.revision for reward in self._rewards}

    def replace(self, reward: LiveReward) -> None:
        assert reward.name in self.names
        self._rewards = tuple(reward if live.name == reward.name else live for live in self._rewards)

    def metrics(self) -> dict[str, float]:
        return dict(self._metrics())

    def state(self) -> dict[str, Any]:
        return self._state()

    def close(self) -> None:
        self._close()

    async def score(self, groups: AsyncIterable[Group]) -> AsyncGenerator[tuple[int, list[Score]], None]:
        streamed = [reward for reward in self._rewards if reward.granularity != "batch"]
        batched = [reward for reward in self._rewards if reward.granularity == "batch"]
        tasks: dict[asyncio.Task[list[Results]], Group] = {}
        try:
            async for group in groups:
                tasks[asyncio.create_task(_rate(streamed, [group]))] = group
                if not batched:
                    for task in [task for task in tasks if task.done()]:
                        yield self._combined(tasks.pop(task), task.result())
            if not batched:
                while tasks:
                    finished, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                    for task in sorted(finished, key=lambda task: tasks[task].key):
                        yield self._combined(tasks.pop(task), task.result())
                return
            # Groups arrive in the order they finish; a batch is formed in the order of their keys.
            rest = sorted(tasks.items(), key=lambda item: item[1].key)
            over_all = await _rate(batched, [group for _, group in rest]) if rest else []
            start = 0
            for task, group in rest:
                stop = start + len(group.samples)
                whole = [results[start:stop] for results in over_all]
                yield self._combined(group, self._in_order(await task, whole))
                del tasks[task]
                start = stop
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _in_order(self, streamed: list[Results], batched: list[Results]) -> list[Results]:
        one, other = iter(streamed), iter(batched)
        return [next(other if reward.granularity == "batch" else one) for reward in self._rewards]

    def _combined(self, group: Group, results: list[Results]) -> tuple[int, list[Score]]:
        scores = []
        for row in zip(*results, strict=True):
            failed = [
                (result, reward) for result, reward in zip(row, self._rewards, strict=True) if result.failed
            ]
            scores.append(
                Score(
                    results=row,
                    error=failed[0][0].status if failed else None,
                    dropped=any(result.value is None for result, _ in failed),
                )
            )
        return group.key, scores


async def _rate(rewards: Sequence[LiveReward], groups: Sequence[Group]) -> list[Results]:
    rows = [RewardInput(sample, group.key) for group in groups for sample in group.samples]
    return await side_by_side([_one(reward, rows) for reward in rewards])


async def _one(reward: LiveReward, rows: Sequence[RewardInput]) -> Results:
    results = [_with_reward(reward, result) for result in await reward.rater.rate(rows)]
    failed = [result for result in results if result.failed]
    if failed and reward.on_error == "pause":
        raise RewardsFailed(
            f"The reward {reward.name} failed ({failed[0].status}) and is set to pause the job on any error.",
            traceback=failed[0].message,
            hint=RESUME_HINT,
        )
    return results


def _with_reward(reward: LiveReward, result: RewardResult) -> RewardResult:
    zero = reward.on_error == "zero" and result.failed and result.status not in STRANGERS
    return replace(
        result,
        name=reward.name,
        revision=reward.revision,
        value=0.0 if zero else result.value,
    )
