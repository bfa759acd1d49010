"""Stores and runs golden cases of rewards, and checks them before a job starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.golden import repository
from backend.models import GoldenCaseRow, now
from backend.rewards import service as rewards
from backend.rpc.client import Calls
from reinforge.errors import InvalidInput, NotFound
from reinforge.evaluation.golden import Expectation, GoldenCase, GoldenOutcome, outcomes, rows_of
from reinforge.schemas.golden import MOST_CASES, GoldenCaseCreate, GoldenResult, GoldenRun, StoredGoldenCase
from reinforge.schemas.jobs import RewardResult
from reinforge.schemas.resources import RewardTest, RewardTestRow

ROWS_PER_CALL = 256


@dataclass(frozen=True, slots=True)
class GoldenReward:
    account: rewards.Account
    name: str
    source: str
    entry: str | None
    granularity: str = "sample"
    timeout_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class GoldenResults:
    outcomes: list[GoldenOutcome]
    load_error: str | None = None
    jail: str | None = None


async def cases_of(session: AsyncSession, reward_id: str) -> list[StoredGoldenCase]:
    return [stored(row) for row in await repository.of_reward(session, reward_id)]


async def add(
    session: AsyncSession, project_id: str, reward_id: str, cases: Sequence[GoldenCaseCreate], created_by: str
) -> list[StoredGoldenCase]:
    await rewards.get(session, project_id, reward_id)
    count = await repository.count(session, reward_id)
    if count + len(cases) > MOST_CASES:
        raise InvalidInput(
            f"A reward has at most {MOST_CASES} golden cases; this one has {count} and would get {len(cases)} more.",
            code="too_many_golden_cases",
            hint="Delete cases that test the same behaviour.",
        )
    moment = now()
    rows = [
        GoldenCaseRow(
            id=new_id("gold_"),
            reward_id=reward_id,
            item=case.item,
            prompt=case.prompt,
            completion=case.completion,
            expect=case.expect.model_dump(exclude_defaults=True),
            note=case.note,
            origin=case.origin.model_dump() if case.origin else None,
            created_by=created_by,
            created_at=moment + timedelta(microseconds=number),
        )
        for number, case in enumerate(cases)
    ]
    session.add_all(rows)
    await session.flush()
    return [stored(row) for row in rows]


async def remove(session: AsyncSession, project_id: str, reward_id: str, id: str) -> None:
    await rewards.get(session, project_id, reward_id)
    row = await repository.find(session, reward_id, id)
    if row is None:
        raise NotFound(f"The reward {reward_id} has no golden case {id}.", code="golden_case_not_found")
    await session.delete(row)


async def run(calls: Calls, code: GoldenReward, cases: Sequence[GoldenCase]) -> GoldenResults:
    granularity = rewards.granularity_of(code.source, code.granularity)
    together = [cases] if granularity == "sample" else [[case] for case in cases]
    results: list[RewardResult] = []
    jail = None
    for some in together:
        rows = rows_of(some)
        for start in range(0, len(rows), ROWS_PER_CALL):
            part = [RewardTestRow.model_validate(row) for row in rows[start : start + ROWS_PER_CALL]]
            body = RewardTest(rows=part, timeout_seconds=code.timeout_seconds)
            answer = await rewards.test(
                calls,
                code.source,
                code.entry,
                code.granularity,
                code.name,
                body,
                code.account,
            )
            if answer.load_error is not None:
                return GoldenResults([], answer.load_error, answer.jail)
            results += answer.results
            jail = answer.jail
    return GoldenResults(outcomes(cases, results), None, jail)


async def gate(calls: Calls, checked: Sequence[tuple[int, GoldenReward, Sequence[StoredGoldenCase]]]) -> None:
    """Run the golden cases of rewards. Raises InvalidInput `golden_cases_failed` for the first reward that
    fails.
    """
    for position, code, cases in checked:
        if not cases:
            continue
        result = await run(calls, code, [plain(case) for case in cases])
        failed = [
            (case, outcome)
            for case, outcome in zip(cases, result.outcomes, strict=False)
            if not outcome.passed
        ]
        if result.load_error is None and not failed:
            continue
        raise InvalidInput(
            f"The reward {code.name!r} does not pass {len(failed)} of its {len(cases)} golden cases: "
            f"{failed[0][1].message}"
            if result.load_error is None
            else f"The reward {code.name!r} cannot be loaded, so its golden cases were not run: {result.load_error}",
            code="golden_cases_failed",
            param=f"rewards[{position}]",
            hint="Fix the reward, or delete the cases that no longer say what you want.",
            errors=[
                {"param": f"rewards[{position}]", "code": case.id, "message": outcome.message}
                for case, outcome in failed
            ],
        )


def report(
    reward: str, revision: int | None, cases: Sequence[StoredGoldenCase], result: GoldenResults
) -> GoldenRun:
    results = [
        GoldenResult(case=case.id, outcome=outcome)
        for case, outcome in zip(cases, result.outcomes, strict=False)
    ]
    return GoldenRun(
        reward=reward,
        revision=revision,
        passed=result.load_error is None and all(outcome.passed for outcome in result.outcomes),
        results=results,
        load_error=result.load_error,
        jail=result.jail,
    )


def plain(case: StoredGoldenCase) -> GoldenCase:
    return GoldenCase(
        item=case.item, prompt=case.prompt, completion=case.completion, expect=case.expect, note=case.note
    )


def stored(row: GoldenCaseRow) -> StoredGoldenCase:
    return StoredGoldenCase(
        id=row.id,
        reward=row.reward_id,
        item=row.item,
        prompt=row.prompt,
        completion=row.completion,
        expect=Expectation.model_validate(row.expect),
        note=row.note,
        origin=row.origin,
        created_by=row.created_by,
        created_at=row.created_at,
    )
