"""Base class of raters, which compute one reward each."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from reinforge.grading.samples import make_sample
from worker.rewards.base import RewardResult, Scorable

T = TypeVar("T")


@dataclass(frozen=True)
class RewardInput:
    scorable: Scorable
    group: int

    @property
    def item(self) -> Mapping[str, Any]:
        return self.scorable.item

    @cached_property
    def sample(self) -> dict[str, Any]:
        return make_sample(self.scorable.completion, self.scorable.sample)


class Rater(ABC):
    @abstractmethod
    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        """Score rows; return one result per row, in the rows' order. A row that fails has a failed result.
        Raises JobFailure if none can be scored.
        """

    def spared(self, rows: int) -> None:  # noqa: B027 - most raters cost nothing
        """Count rows that a closed gate skipped."""


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines concurrently; the first exception cancels the others."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def with_usage(result: RewardResult, others: Iterable[RewardResult]) -> RewardResult:
    usage = {judge: dict(counts) for judge, counts in result.usage.items()}
    for other in others:
        for judge, counts in other.usage.items():
            total = usage.setdefault(judge, {})
            for name, count in counts.items():
                total[name] = total.get(name, 0.0) + count
    return replace(result, usage=usage)


def ok(value: float, **fields: Any) -> RewardResult:
    return RewardResult(name="", status="ok", value=value, **fields)


def failed(status: str, code: str, message: str, **fields: Any) -> RewardResult:
    return RewardResult(name="", status=status, value=None, code=code, message=message, **fields)
