"""The scorer over a stand-in for the sandbox: order, errors, policies, granularity."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from reinforge.errors import JobFailure
from worker.rewards.base import Group, RewardsFailed, Scorable, Score
from worker.rewards.sandboxed import CodeReward, SandboxedScorer
from worker.sandbox.outcome import CallOutcome, RewardRow, RowResult

FAILED = RowResult("exception", message="Traceback\nZeroDivisionError: division by zero")


def reward(name: str = "r", **changes: Any) -> CodeReward:
    settings: dict[str, Any] = {
        "weight": 1.0,
        "source": name,
        "revision": f"{name}@1",
        "entry": None,
        "granularity": "sample",
        "isolate": "batch",
        "on_error": "drop",
        "timeout_seconds": 2.0,
    }
    return CodeReward(name=name, **(settings | changes))


def number(row: RewardRow) -> RowResult:
    return FAILED if row.completion == "bad" else RowResult("ok", float(row.completion), parts={"half": 0.5})


def scored(
    rewards: list[CodeReward],
    groups: list[list[str]],
    call: Callable[[CodeReward, list[RewardRow]], CallOutcome] | None = None,
    keys: list[int] | None = None,
) -> dict[int, list[Score]]:
    def by_number(_: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        return CallOutcome("ok", [number(row) for row in rows])

    async def arriving() -> AsyncGenerator[Group, None]:
        for key, texts in zip(keys or range(len(groups)), groups, strict=True):
            yield Group(
                key, [Scorable(text, {"x": key}, [{"role": "user", "content": "?"}]) for text in texts]
            )
            await asyncio.sleep(0)

    async def run() -> dict[int, list[Score]]:
        scorer = SandboxedScorer(rewards, call or by_number, threads=2)
        try:
            return {key: scores async for key, scores in scorer.score(arriving())}
        finally:
            scorer.close()

    return asyncio.run(run())


def values(scores: list[Score]) -> list[float | None]:
    return [score.results[0].value for score in scores]


def test_groups_come_back_by_their_key_in_order() -> None:
    results = scored([reward()], [["1", "2"], ["3"], ["4", "5"]], keys=[7, 0, 3])
    assert {key: values(scores) for key, scores in results.items()} == {
        7: [1.0, 2.0],
        0: [3.0],
        3: [4.0, 5.0],
    }
    result = results[7][0].results[0]
    assert (result.parts, result.revision, result.failed) == ({"half": 0.5}, "r@1", False)


@pytest.mark.parametrize(("policy", "value", "dropped"), [("drop", None, True), ("zero", 0.0, False)])
def test_an_error_is_recorded_whatever_it_does_to_the_row(
    policy: Any, value: float | None, dropped: bool
) -> None:
    good, bad = scored([reward(on_error=policy)], [["1", "bad"]])[0]
    assert (good.error, good.dropped) == (None, False)
    assert (bad.error, bad.dropped, bad.results[0].value) == ("exception", dropped, value)
    assert "ZeroDivisionError" in (bad.results[0].message or "")


def test_pause_on_error_raises_with_the_traceback() -> None:
    with pytest.raises(RewardsFailed) as caught:
        scored([reward(on_error="pause")], [["1"], ["bad"]])
    assert caught.value.code == "reward_errors"
    assert caught.value.retryable
    assert "ZeroDivisionError" in (caught.value.traceback or "")


def test_several_rewards_keep_their_order_and_one_failure_drops_the_row() -> None:
    def call(which: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        if which.name == "b":
            return CallOutcome("ok", [RowResult("not_applicable") for _ in rows])
        return CallOutcome("ok", [FAILED if which.name == "c" else RowResult("ok", 1.0) for _ in rows])

    rewards = [reward("a"), reward("b", granularity="batch"), reward("c", granularity="group")]
    (score,) = scored(rewards, [["x"]], call)[0]
    assert [(r.name, r.status, r.value) for r in score.results] == [
        ("a", "ok", 1.0),
        ("b", "not_applicable", None),
        ("c", "exception", None),
    ]
    assert (score.error, score.dropped) == ("exception", True)


def test_a_batch_reward_sees_all_groups_in_the_order_of_their_keys() -> None:
    calls: list[list[str]] = []

    def call(_: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        calls.append([row.completion for row in rows])
        return CallOutcome("ok", [RowResult("ok", float(row.completion)) for row in rows])

    results = scored([reward(granularity="batch")], [["3", "4"], ["1", "2"]], call, keys=[1, 0])
    assert calls == [["1", "2", "3", "4"]]
    assert {key: values(scores) for key, scores in results.items()} == {0: [1.0, 2.0], 1: [3.0, 4.0]}


def test_rows_carry_their_group_prompt_and_item() -> None:
    received: list[RewardRow] = []

    def call(_: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        received.extend(rows)
        return CallOutcome("ok", [RowResult("ok", 0.0) for _ in rows])

    scored([reward(granularity="group")], [["ä", "日本"]], call, keys=[4])
    assert [(row.completion, row.group, row.item) for row in received] == [
        ("ä", 4, {"x": 4}),
        ("日本", 4, {"x": 4}),
    ]
    assert received[0].prompt == [{"role": "user", "content": "?"}]


def test_groups_are_scored_while_others_arrive() -> None:
    started = threading.Event()

    def call(_: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        started.set()
        return CallOutcome("ok", [RowResult("ok", 0.0) for _ in rows])

    async def run() -> bool:
        scorer = SandboxedScorer([reward()], call, threads=1)

        async def arriving() -> AsyncGenerator[Group, None]:
            yield Group(0, [Scorable("1", {}, [])])
            # The second group arrives only after the first was taken up.
            assert await asyncio.to_thread(started.wait, 10)
            yield Group(1, [Scorable("2", {}, [])])

        results = [key async for key, _ in scorer.score(arriving())]
        scorer.close()
        return sorted(results) == [0, 1]

    assert asyncio.run(run())


def test_a_slow_group_holds_up_no_other_one() -> None:
    """Else the progress of a hung job names groups that were scored long ago."""
    other_scored = threading.Event()

    def call(_: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        if rows[0].completion == "slow":
            assert other_scored.wait(10)
        return CallOutcome("ok", [RowResult("ok", 0.0) for _ in rows])

    async def run() -> list[int]:
        scorer = SandboxedScorer([reward()], call, threads=2)

        async def arriving() -> AsyncGenerator[Group, None]:
            yield Group(0, [Scorable("slow", {}, [])])
            yield Group(1, [Scorable("fast", {}, [])])

        keys = []
        async for key, _ in scorer.score(arriving()):
            keys.append(key)
            other_scored.set()
        scorer.close()
        return keys

    assert asyncio.run(run()) == [1, 0]


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("load_error", "reward_errors"),
        ("sandbox_error", "sandbox_unavailable"),
        ("sandbox_unavailable", "sandbox_unavailable"),
    ],
)
def test_failures_that_are_no_rows_pause_the_job(status: Any, code: str) -> None:
    with pytest.raises(JobFailure) as caught:
        scored([reward()], [["1"]], lambda _, rows: CallOutcome(status, message="what happened"))
    assert caught.value.code == code
    assert caught.value.retryable
    assert "what happened" in caught.value.message
