"""Python rewards, scored by the sandbox daemon."""

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

from reinforge.errors import JobFailure
from worker.rewards.base import MEND_HINT, Group, RewardResult, RewardsFailed, Scorable, Score
from worker.sandbox.client import SandboxClient
from worker.sandbox.limits import Timeouts
from worker.sandbox.outcome import CallOutcome, Granularity, Isolation, RewardRow, RowResult

ROWS_PER_CALL = 16


@dataclass(frozen=True, slots=True)
class CodeReward:
    """A Python reward as the job has it."""

    name: str
    weight: float
    source: str
    revision: str
    entry: str | None
    granularity: Granularity
    isolate: Isolation
    on_error: Literal["drop", "zero", "pause"]
    timeout_seconds: float


Call = Callable[[CodeReward, list[RewardRow]], CallOutcome]
"""Scores rows in the sandbox; blocks; called from several threads at once. Infrastructure failures were retried."""


def sandbox_call(client: SandboxClient) -> Call:
    """Calls through a client; a call may take as long as its rows may together."""

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


class SandboxedScorer:
    """`Scorer` over a sandbox. Groups are scored as they arrive; a `batch` reward waits for the last of them."""

    def __init__(self, rewards: Sequence[CodeReward], call: Call, *, threads: int | None = None) -> None:
        self._rewards = tuple(rewards)
        self._call = call
        self._threads = ThreadPoolExecutor(threads or max(2, os.cpu_count() or 2), thread_name_prefix="score")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(reward.name for reward in self._rewards)

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(reward.weight for reward in self._rewards)

    @property
    def revisions(self) -> dict[str, str]:
        return {reward.name: reward.revision for reward in self._rewards}

    async def score(self, groups: AsyncIterable[Group]) -> AsyncGenerator[tuple[int, list[Score]], None]:
        streamed = [reward for reward in self._rewards if reward.granularity != "batch"]
        batched = [reward for reward in self._rewards if reward.granularity == "batch"]
        tasks: dict[asyncio.Task[list[list[RewardResult]]], Group] = {}
        try:
            async for group in groups:
                tasks[asyncio.create_task(self._rate(streamed, [group]))] = group
                if not batched:
                    for task in [task for task in tasks if task.done()]:
                        yield self._combined(tasks.pop(task), task.result())
            # Groups arrive in the order they finish; a batch is formed in the order of their keys.
            rest = sorted(tasks.items(), key=lambda item: item[1].key)
            over_all = await self._rate(batched, [group for _, group in rest]) if batched and rest else []
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

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _rate(self, rewards: Sequence[CodeReward], groups: Sequence[Group]) -> list[list[RewardResult]]:
        """Results per reward and completion, in order; rewards run side by side."""
        rows = [_row(sample, group.key) for group in groups for sample in group.samples]
        loop = asyncio.get_running_loop()
        return list(
            await asyncio.gather(*(loop.run_in_executor(self._threads, self._one, r, rows) for r in rewards))
        )

    def _one(self, reward: CodeReward, rows: list[RewardRow]) -> list[RewardResult]:
        outcome = self._call(reward, rows)
        if outcome.status == "load_error":
            raise RewardsFailed(
                f"The reward {reward.name} cannot be loaded: {_first_line(outcome.message)}",
                traceback=outcome.message,
                hint=MEND_HINT,
            )
        if outcome.status != "ok":
            raise JobFailure(
                f"The sandbox did not score {len(rows)} completions: {_first_line(outcome.message)}",
                code="sandbox_unavailable",
                hint="Check that sandboxd runs on this worker (`reinforge doctor`), then resume the job.",
                retryable=True,
            )
        results = [_result(reward, row) for row in outcome.rows]
        failed = [result for result in results if result.failed]
        if failed and reward.on_error == "pause":
            raise RewardsFailed(
                f"The reward {reward.name} failed ({failed[0].status}) and is set to pause the job on any error.",
                traceback=failed[0].message,
                hint=MEND_HINT,
            )
        return results

    def _in_order(
        self, streamed: list[list[RewardResult]], batched: list[list[RewardResult]]
    ) -> list[list[RewardResult]]:
        """Both kinds of rewards back in the order of the specification."""
        one, other = iter(streamed), iter(batched)
        return [next(other if reward.granularity == "batch" else one) for reward in self._rewards]

    def _combined(self, group: Group, results: list[list[RewardResult]]) -> tuple[int, list[Score]]:
        scores = []
        for row in zip(*results, strict=True):
            failed = [
                (result, reward) for result, reward in zip(row, self._rewards, strict=True) if result.failed
            ]
            scores.append(
                Score(
                    results=row,
                    error=failed[0][0].status if failed else None,
                    dropped=any(reward.on_error != "zero" for _, reward in failed),
                )
            )
        return group.key, scores


def _row(sample: Scorable, group: int) -> RewardRow:
    return RewardRow(prompt=sample.prompt, completion=sample.completion, item=sample.item, group=group)


def _result(reward: CodeReward, row: RowResult) -> RewardResult:
    """The row's result; an error that the job counts as 0 keeps its status beside the value."""
    result = RewardResult(
        name=reward.name,
        status=row.status,
        value=row.value,
        parts=row.parts,
        steps=row.steps,
        criteria=row.criteria,
        candidates=row.candidates,
        reason=row.reason,
        prints=row.prints,
        message=row.message,
        wall_ms=row.wall_ms,
        cpu_ms=row.cpu_ms,
        revision=reward.revision,
    )
    if result.failed and reward.on_error == "zero":
        return replace(result, value=0.0)
    return result


def _first_line(message: str | None) -> str:
    lines = (message or "no reason given").strip().splitlines()
    return lines[-1][:300] if lines else "no reason given"
