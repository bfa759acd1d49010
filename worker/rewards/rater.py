"""The protocol of one reward: rows in, one result for each row out."""

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
class Row:
    """A completion, and the group whose completions belong together."""

    scorable: Scorable
    group: int

    @property
    def item(self) -> Mapping[str, Any]:
        return self.scorable.item

    @cached_property
    def sample(self) -> dict[str, Any]:
        """Template variables of `sample`."""
        return make_sample(self.scorable.completion, self.scorable.sample)


class Rater(ABC):
    @abstractmethod
    async def rate(self, rows: Sequence[Row]) -> list[RewardResult]:
        """One result per row, in order; the caller fills in names and revisions.

        A row's failure is its result. Raises JobFailure when the reward cannot score at all.
        """

    def spared(self, rows: int) -> None:  # noqa: B027 - most raters cost nothing
        """Count `rows` that a closed gate skipped; raters with a cost add up the savings."""


async def side_by_side(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run concurrently; results in order. The first that raises cancels the others."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def with_usage(result: RewardResult, others: Iterable[RewardResult]) -> RewardResult:
    """The result with the usage of `others` added."""
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
