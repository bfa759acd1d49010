"""Python rewards, scored in the sandbox."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from reinforge.errors import JobFailure
from worker.rewards.base import RESUME_HINT, RewardResult, RewardsFailed
from worker.rewards.composite import CompositeScorer, LiveReward
from worker.rewards.rater import Rater, RewardInput, side_by_side, with_usage
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import CallOutcome, Granularity, Isolation, RewardRow, RowResult

ROWS_PER_CALL = 16


@dataclass(frozen=True, slots=True)
class CodeReward:
    name: str
    weight: float
    source: str
    revision: str
    entry: str | None
    granularity: Granularity
    isolate: Isolation
    on_error: Literal["drop", "zero", "pause"]
    timeout_seconds: float
    judges: Mapping[str, Rater] = field(default_factory=dict)


Call = Callable[[CodeReward, list[RewardRow]], CallOutcome]


def sandbox_call(client: SandboxClient) -> Call:
    """Make a `Call` that scores in the sandbox. Its time limit is that of 16 rows, within 30 to 120 s."""

    def call(reward: CodeReward, rows: list[RewardRow]) -> CallOutcome:
        whole = min(120.0, max(30.0, ROWS_PER_CALL * reward.timeout_seconds))
        return client.score(
            reward.source,
            rows,
            entry=reward.entry,
            granularity=reward.granularity,
            isolate=reward.isolate,
            timeouts=Timeouts(sample=reward.timeout_seconds, call=whole),
        )

    return call


def scoring_threads(count: int | None = None) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count or max(2, os.cpu_count() or 2), thread_name_prefix="score")


class CodeRater(Rater):
    def __init__(self, reward: CodeReward, call: Call, threads: ThreadPoolExecutor) -> None:
        self._reward, self._call, self._threads = reward, call, threads

    async def rate(self, rows: Sequence[RewardInput]) -> list[RewardResult]:
        judgements = await self._judged(rows)
        failed = {
            index: result for index, row in enumerate(judgements) for result in row.values() if result.failed
        }
        runs = [index for index in range(len(rows)) if index not in failed]
        sent = [_row(rows[index], judgements[index]) for index in runs]
        results = await asyncio.get_running_loop().run_in_executor(self._threads, self._run, sent)
        scored = dict(zip(runs, results, strict=True))
        # The usage of a row's judges counts for the row even if the code did not run.
        return [
            with_usage(replace(failed[index], usage={}) if index in failed else scored[index], row.values())
            for index, row in enumerate(judgements)
        ]

    async def _judged(self, rows: Sequence[RewardInput]) -> list[dict[str, RewardResult]]:
        names = list(self._reward.judges)
        columns = await side_by_side([self._reward.judges[name].rate(rows) for name in names])
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] or [
            {} for _ in rows
        ]

    def _run(self, rows: list[RewardRow]) -> list[RewardResult]:
        if not rows:
            return []
        reward = self._reward
        outcome = self._call(reward, rows)
        if outcome.status == "load_error":
            raise RewardsFailed(
                f"The reward {reward.name} cannot be loaded: {_first_line(outcome.message)}",
                traceback=outcome.message,
                hint=RESUME_HINT,
            )
        if outcome.status != "ok":
            raise JobFailure(
                f"The sandbox did not score {len(rows)} completions: {_first_line(outcome.message)}",
                code="sandbox_unavailable",
                hint="Check that sandboxd runs on this worker (`reinforge doctor`), then resume the job.",
                retryable=True,
            )
        return [_result(scored, row) for scored, row in zip(rows, outcome.rows, strict=True)]


class SandboxedScorer(CompositeScorer):
    def __init__(self, rewards: Sequence[CodeReward], call: Call, *, threads: int | None = None) -> None:
        pool = scoring_threads(threads)
        super().__init__(
            [live_code(reward, call, pool) for reward in rewards],
            close=lambda: pool.shutdown(wait=False, cancel_futures=True),
        )


def live_code(reward: CodeReward, call: Call, threads: ThreadPoolExecutor) -> LiveReward:
    return LiveReward(
        name=reward.name,
        weight=reward.weight,
        revision=reward.revision,
        on_error=reward.on_error,
        granularity=reward.granularity,
        rater=CodeRater(reward, call, threads),
    )


def _row(row: RewardInput, judges: Mapping[str, RewardResult]) -> RewardRow:
    scorable = row.scorable
    return RewardRow(
        prompt=scorable.prompt,
        completion=scorable.completion,
        item=scorable.item,
        group=row.group,
        judges={name: _judge_reply(result) for name, result in judges.items()} if judges else None,
        sample=scorable.sample,
    )


def _judge_reply(result: RewardResult) -> dict[str, Any]:
    return {"result": result.value, "label": result.labels.get(""), "reason": result.reason}


def _result(scored: RewardRow, row: RowResult) -> RewardResult:
    most = _turns(scored)
    if row.turns and row.turns[-1][1] >= most:
        message = f"turns: there is no turn {row.turns[-1][1]}; the completion has {most}, counted from 0"
        row = RowResult(
            "bad_value", message=message, prints=row.prints, wall_ms=row.wall_ms, cpu_ms=row.cpu_ms
        )
    return RewardResult(
        name="",
        status=row.status,
        value=row.value,
        parts=row.parts,
        steps=row.steps,
        turns=row.turns,
        criteria=row.criteria,
        candidates=row.candidates,
        reason=row.reason,
        prints=row.prints,
        message=row.message,
        wall_ms=row.wall_ms,
        cpu_ms=row.cpu_ms,
    )


def _turns(row: RewardRow) -> int:
    before = 1 if isinstance(row.prompt, str) else len(row.prompt)
    later: Sequence[Mapping[str, Any]] = (row.sample.get("messages") or ())[before:]
    return max(1, sum(1 for message in later if message["role"] == "assistant"))


def _first_line(message: str | None) -> str:
    lines = (message or "no reason given").strip().splitlines()
    return lines[-1][:300] if lines else "no reason given"
