"""Rewards computed from strings alone: string checks and text similarity."""

import time
from collections.abc import Sequence
from dataclasses import replace

from reinforge.errors import JobFailure
from reinforge.grading import declarative
from reinforge.grading.errors import MetricUnavailable, UnresolvedVariable
from reinforge.grading.types import StringCheck, TextSimilarity
from worker.rewards.base import RewardResult
from worker.rewards.rater import Rater, RewardInput, failed, ok


class DeclarativeRater(Rater):
    def __init__(self, grader: StringCheck | TextSimilarity) -> None:
        self._grader = grader

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        return [self._row(row) for row in rows]

    def _row(self, row: RewardInput) -> RewardResult:
        began = time.perf_counter()
        try:
            result = ok(declarative.score(self._grader, row.item, row.sample))
        except UnresolvedVariable as error:
            result = failed("exception", error.code, str(error))
        except MetricUnavailable as error:
            raise JobFailure(
                f"The worker cannot compute a reward: {error}",
                code="reward_errors",
                hint="Fix the worker and resume the job, or choose another evaluation_metric.",
                retryable=True,
            ) from error
        return replace(result, wall_ms=1000 * (time.perf_counter() - began))
