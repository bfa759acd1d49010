"""Rewards: push, check, test and attack; golden cases."""

import builtins
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from reinforge.client.aio.paging import iterate
from reinforge.client.aio.transport import AsyncTransport
from reinforge.client.protocol import WORKER_SECONDS
from reinforge.evaluation.golden import GoldenCase
from reinforge.grading.source import is_grader
from reinforge.parsing.python_source import read_source
from reinforge.schemas.golden import GoldenCaseList, GoldenRun, StoredGoldenCase
from reinforge.schemas.resources import RewardDetail, RewardSummary, RewardTestResult
from reinforge.schemas.reward_attack import AttackReport
from reinforge.schemas.rewards import RewardCheckResult


class AsyncRewards:
    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def push(
        self,
        path: str | Path | None = None,
        *,
        source: str | None = None,
        name: str | None = None,
        entry: str | None = None,
        granularity: str = "sample",
    ) -> RewardDetail:
        """Store Python or a grader's JSON as a reward; changed code becomes a new revision."""
        if path is not None:
            source = read_source(path)
            name = name or Path(path).stem
        if source is None or name is None:
            raise ValueError("give a path, or source and name")
        grader = is_grader(source)  # which says by its type what it sees
        async for reward in self.list():
            if reward.name == name and (grader or reward.granularity == granularity):
                detail = await self.get(reward.id)
                newest = max(detail.revisions, key=lambda r: r.revision)
                if newest.source == source and (entry is None or reward.entry == entry):
                    return detail
                body = {"source": source, "entry": entry}
                headers = {"if-match": detail.etag}
                return RewardDetail.model_validate(
                    await self._transport.post(f"/rewards/{reward.id}/revisions", body, headers=headers)
                )
        body = {"name": name, "source": source, "entry": entry, "granularity": granularity}
        return RewardDetail.model_validate(await self._transport.post("/rewards", body))

    def list(self) -> AsyncIterator[RewardSummary]:
        return iterate(self._transport, "/rewards", RewardSummary)

    async def get(self, id: str) -> RewardDetail:
        return RewardDetail.model_validate(await self._transport.get(f"/rewards/{id}"))

    async def check(self, source: str, *, entry: str | None = None) -> RewardCheckResult:
        """Load code in the sandbox without storing it; returns its functions, or errors by line."""
        body = {"source": source, "entry": entry}
        return RewardCheckResult.model_validate(
            await self._transport.post("/rewards/check", body, at_least=WORKER_SECONDS)
        )

    async def golden_cases(self, id: str) -> builtins.list[StoredGoldenCase]:
        return GoldenCaseList.model_validate(await self._transport.get(f"/rewards/{id}/golden-cases")).data

    async def add_golden_cases(self, id: str, cases: Sequence[GoldenCase]) -> builtins.list[StoredGoldenCase]:
        body = {"cases": [case.model_dump(mode="json", exclude_defaults=True) for case in cases]}
        return GoldenCaseList.model_validate(
            await self._transport.post(f"/rewards/{id}/golden-cases", body)
        ).data

    async def remove_golden_case(self, id: str, case: str) -> None:
        await self._transport.delete(f"/rewards/{id}/golden-cases/{case}")

    async def run_golden_cases(
        self, id: str, *, source: str | None = None, revision: int | None = None
    ) -> GoldenRun:
        """Run all golden cases on the newest revision, on `revision`, or on unsaved `source`."""
        body = {"source": source, "revision": revision}
        return GoldenRun.model_validate(
            await self._transport.post(f"/rewards/{id}/golden-cases/run", body, at_least=WORKER_SECONDS)
        )

    async def test(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        id: str | None = None,
        source: str | None = None,
        entry: str | None = None,
        granularity: str = "sample",
    ) -> RewardTestResult:
        """Score completions without a job. rows: `{completion, item, prompt}`. Give `id` or `source`."""
        body: dict[str, Any] = {"rows": list(rows), "entry": entry, "granularity": granularity}
        if source is not None:
            body["source"] = source
        path = f"/rewards/{id}/test" if id else "/rewards/test"
        return RewardTestResult.model_validate(
            await self._transport.post(path, body, at_least=WORKER_SECONDS)
        )

    async def attack(
        self,
        rows: Sequence[dict[str, Any]],
        *,
        id: str | None = None,
        source: str | None = None,
        entry: str | None = None,
        granularity: str | None = None,
        answer: str = "answer",
        right: str | None = None,
    ) -> AttackReport:
        """Search for wrong completions that get a high reward. rows: `{item, prompt}`. Give `id` or `source`.

        answer: name of the items' field that holds the right answer. right: a right completion with `{answer}` in it.
        """
        body: dict[str, Any] = {"rows": list(rows), "entry": entry, "answer": answer, "right": right}
        body |= {"source": source, "granularity": granularity}
        path = f"/rewards/{id}/attack" if id else "/rewards/attack"
        fields = {name: value for name, value in body.items() if value is not None}
        return AttackReport.model_validate(await self._transport.post(path, fields, at_least=WORKER_SECONDS))
