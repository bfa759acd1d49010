"""Code with declared judges, and whose fault an error is: what strangers do wrong never becomes a value."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from worker.rewards.base import Group, RewardResult, RewardsFailed, Scorable, Score
from worker.rewards.circuit_breaker import Breaker
from worker.rewards.composite import CompositeScorer, LiveReward
from worker.rewards.rater import Rater, RewardInput, failed, ok
from worker.rewards.sandboxed import CodeReward, SandboxedScorer
from worker.sandbox.outcome import CallOutcome, RewardRow, RowResult


class Tone(Rater):
    """Says how kind a completion is; does not answer about rude ones."""

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        return [self._row(row.scorable.completion) for row in rows]

    def _row(self, text: str) -> RewardResult:
        usage = {"critic": {"cost": 0.5, "calls": 1.0}}
        if text == "rude":
            return failed("judge_error", "judge_refusal", "critic: the judge refused", usage=usage)
        return ok(1.0, labels={"": "kind"}, reason="polite", usage=usage)


def scored(scorer: CompositeScorer, texts: list[str]) -> list[Score]:
    async def arriving() -> AsyncGenerator[Group, None]:
        yield Group(0, [Scorable(text, {}, []) for text in texts])

    async def run() -> list[Score]:
        return [score async for _, scores in scorer.score(arriving()) for score in scores]

    try:
        return asyncio.run(run())
    finally:
        scorer.close()


def test_code_receives_judgements_and_does_not_run_where_a_judge_failed() -> None:
    received: list[RewardRow] = []

    def call(_: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        received.extend(rows)
        return CallOutcome("ok", [RowResult("ok", 0.25) for _ in rows])

    reward = CodeReward("r", 1.0, "…", "r@1", None, "sample", "batch", "zero", 2.0, {"tone": Tone()})
    fine, bad = scored(SandboxedScorer([reward], call, threads=1), ["hello", "rude"])
    assert [row.completion for row in received] == ["hello"]
    assert received[0].judges == {"tone": {"result": 1.0, "label": "kind", "reason": "polite"}}
    assert (fine.results[0].value, fine.results[0].usage) == (0.25, {"critic": {"cost": 0.5, "calls": 1.0}})
    assert (bad.error, bad.results[0].value, bad.dropped) == ("judge_error", None, True)
    assert bad.results[0].usage == {"critic": {"cost": 0.5, "calls": 1.0}}


@pytest.mark.parametrize(
    ("status", "value", "dropped"),
    [
        ("judge_error", None, True),
        ("endpoint_error", None, True),
        ("sandbox_error", None, True),
        ("exception", 0.0, False),
    ],
)
def test_only_a_rows_own_error_may_count_as_0(status: str, value: float | None, dropped: bool) -> None:
    class Fails(Rater):
        async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
            return [failed(status, status, "why") for _ in rows]

    live = LiveReward("r", 1.0, "r@1", "zero", "sample", Fails())
    (score,) = scored(CompositeScorer([live]), ["x"])
    assert (score.error, score.results[0].value, score.dropped) == (status, value, dropped)


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("judge_error", "judge_unavailable"),
        ("endpoint_error", "endpoint_unavailable"),
        ("timeout", "reward_errors"),
    ],
)
def test_the_breaker_names_who_is_to_blame(status: str, reason: str) -> None:
    result: Any = failed(status, status, "why")
    with pytest.raises(RewardsFailed) as caught:
        Breaker(0.2).check([Score((result,), status, True)] * 4)
    assert (caught.value.code, caught.value.retryable) == (reason, True)
