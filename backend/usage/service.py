"""Metering of projects, and their budgets."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import cast

from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, require_owner
from backend.data.database import flush_unique
from backend.http.conditional import Match
from backend.models import BudgetRow, UsageRow, now
from backend.usage import repository
from reinforge.errors import InvalidInput, NotFound, StateConflict
from reinforge.schemas.usage import Budget, BudgetSet, ProjectUsage, UsageDay, UsageKind, UsageSource

_WORDS: dict[str, str] = {
    "device_seconds": "seconds of workers' time",
    "sampled_tokens": "sampled tokens",
    "trained_tokens": "trained tokens",
    "judge_spend": "spent on judges",
    "storage_bytes": "bytes stored",
    "served_input_tokens": "tokens read by deployments",
    "served_output_tokens": "tokens written by deployments",
}
TRAINING: frozenset[UsageKind] = frozenset(
    ("device_seconds", "sampled_tokens", "trained_tokens", "judge_spend", "storage_bytes")
)
"""Usage kinds of jobs."""
SERVING: frozenset[UsageKind] = frozenset(("device_seconds", "served_input_tokens", "served_output_tokens"))
"""Usage kinds of chat and deployments."""
SAMPLING: frozenset[UsageKind] = frozenset(("device_seconds", "sampled_tokens"))
"""Usage kinds of the playground and evaluations."""
JUDGING: frozenset[UsageKind] = frozenset(("judge_spend",))
"""Usage kinds of rewards that call a judge."""
STORING: frozenset[UsageKind] = frozenset(("storage_bytes",))
_PERIODS = {"day": "today", "month": "this month", "total": "in all"}


def today() -> date:
    return datetime.now(UTC).date()


async def add(
    session: AsyncSession, project_id: str, amounts: Mapping[UsageKind, float], source: str = ""
) -> None:
    """Add amounts to today's usage. This locks the source's rows: keep transactions short."""
    same = {"project_id": project_id, "day": today(), "source": source}
    # In one order, so that two requests of a deployment never hold what the other waits for.
    rows = [same | {"kind": kind, "amount": amount} for kind, amount in sorted(amounts.items()) if amount > 0]
    if not rows:
        return
    statement = insert(UsageRow).values(rows)
    grown = UsageRow.amount + statement.excluded.amount
    await session.execute(
        statement.on_conflict_do_update(
            index_elements=["project_id", "day", "kind", "source"], set_={"amount": grown}
        )
    )


async def measure_storage(session: AsyncSession) -> None:
    for project_id, stored in await repository.storage(session):
        statement = insert(UsageRow).values(
            project_id=project_id, day=today(), kind="storage_bytes", source="", amount=float(stored)
        )
        level = {"amount": statement.excluded.amount}
        keys = ["project_id", "day", "kind", "source"]
        await session.execute(statement.on_conflict_do_update(index_elements=keys, set_=level))


async def report(session: AsyncSession, project_id: str, days: int) -> ProjectUsage:
    last = today()
    first = last - timedelta(days=days - 1)
    by_day: dict[date, dict[UsageKind, float]] = {first + timedelta(days=n): {} for n in range(days)}
    totals: dict[UsageKind, float] = {}
    for day, kind, amount in await repository.by_day(session, project_id, first):
        by_day.setdefault(day, {})[kind] = amount
        totals[kind] = totals.get(kind, 0.0) + amount
    stored = float(dict(await repository.storage(session, project_id)).get(project_id, 0))
    by_day[last]["storage_bytes"] = totals["storage_bytes"] = stored
    return ProjectUsage(
        first_day=first,
        last_day=last,
        days=[UsageDay(day=day, amounts=amounts) for day, amounts in sorted(by_day.items())],
        totals=totals,
        sources=[
            UsageSource(source=source, name=name, amounts=amounts)
            for source, name, amounts in await repository.by_source(session, project_id, first)
        ],
        budgets=await budgets(session, project_id),
    )


async def budgets(
    session: AsyncSession, project_id: str, kinds: Collection[UsageKind] | None = None
) -> list[Budget]:
    rows = await repository.budgets(session, project_id, today(), kinds)
    return [await _with_usage(session, row, used) for row, used in rows]


async def exhausted(session: AsyncSession, project_id: str, kinds: Collection[UsageKind]) -> Budget | None:
    """An exhausted budget of these kinds, or None. Takes one short query, unless storage has a budget."""
    for budget in await budgets(session, project_id, kinds):
        if budget.exhausted:
            return budget
    return None


async def require_budget(session: AsyncSession, project_id: str, kinds: Collection[UsageKind]) -> None:
    """Raise StateConflict `budget_exceeded` if a budget of these kinds is exhausted."""
    spent = await exhausted(session, project_id, kinds) if kinds else None
    if spent is not None:
        message, hint = exhausted_message(spent)
        raise StateConflict(message, code="budget_exceeded", hint=hint)


async def require_storage(session: AsyncSession, project_id: str, more: int = 0) -> None:
    """Check the storage budget before storing `more` bytes. Raises StateConflict `budget_exceeded`."""
    for budget in await budgets(session, project_id, STORING):
        if budget.exhausted or budget.used + more > budget.amount:
            raise _too_much(
                f"The project may store {budget.amount:,.0f} bytes; it stores {budget.used:,.0f} and "
                f"this adds {more:,}."
            )


async def check_storage(session: AsyncSession, project_id: str) -> None:
    """Check the storage budget after storing, so that an excess is rolled back. Raises StateConflict
    `budget_exceeded`.
    """
    amount = await repository.locked_storage_budget(session, project_id)
    if amount is None:
        return
    used = dict(await repository.storage(session, project_id)).get(project_id, 0)
    if used > amount:
        raise _too_much(f"The project may store {amount:,.0f} bytes; with this it would store {used:,}.")


def _too_much(message: str) -> StateConflict:
    return StateConflict(
        message,
        code="budget_exceeded",
        hint="Delete datasets or jobs that are not needed, or ask an owner to raise the budget: "
        "`reinforge budget set storage_bytes BYTES --period total`, or Settings → Usage.",
    )


def exhausted_message(spent: Budget) -> tuple[str, str]:
    message = (
        f"The project's budget is used up: {spent.used:,.6g} {_WORDS[spent.kind]} {_PERIODS[spent.period]}, "
        f"and {spent.amount:,.6g} are allowed."
    )
    until = {"day": " or wait until tomorrow (UTC)", "month": " or wait for next month (UTC)"}
    command = f"reinforge budget set {spent.kind} AMOUNT --period {spent.period}"
    return message, f"An owner can raise it: `{command}`, or Settings → Usage{until.get(spent.period, '')}."


async def set_budget(session: AsyncSession, who: Principal, body: BudgetSet, match: Match) -> Budget:
    require_owner(who, "budgets")
    if body.kind == "storage_bytes" and body.period != "total":
        raise InvalidInput(
            "A budget of storage_bytes cannot have a day or month as its period.",
            param="period",
            hint="Set it with the period `total`.",
        )
    existing = await session.get(
        BudgetRow,
        {"project_id": who.project_id, "kind": body.kind, "period": body.period},
        with_for_update=True,
    )
    if existing is not None:
        match.check(await _budget(session, existing))
        existing.amount, existing.created_at = body.amount, now()
        return await _budget(session, existing)
    match.check_absent()
    row = BudgetRow(project_id=who.project_id, kind=body.kind, period=body.period, amount=body.amount)
    session.add(row)
    conflict = StateConflict(
        "Somebody has set this budget just now.", code="budget_exists", hint="Read it, then change it."
    )
    await flush_unique(session, conflict)
    return await _budget(session, row)


async def remove_budget(session: AsyncSession, who: Principal, kind: str, period: str) -> None:
    require_owner(who, "budgets")
    deleted: Sequence[object] = (
        await session.execute(
            delete(BudgetRow)
            .where(BudgetRow.project_id == who.project_id, BudgetRow.kind == kind, BudgetRow.period == period)
            .returning(BudgetRow.kind)
        )
    ).all()
    if not deleted:
        raise NotFound(f"There is no budget of {kind} for {period}.", code="budget_not_found")


async def _budget(session: AsyncSession, row: BudgetRow) -> Budget:
    current = await budgets(session, row.project_id, (cast(UsageKind, row.kind),))
    return next(budget for budget in current if budget.period == row.period)


async def _with_usage(session: AsyncSession, row: BudgetRow, used: float) -> Budget:
    if row.kind == "storage_bytes":
        used = float(dict(await repository.storage(session, row.project_id)).get(row.project_id, 0))
    return Budget.model_validate(
        {
            "kind": row.kind,
            "period": row.period,
            "amount": row.amount,
            "used": used,
            "exhausted": used >= row.amount,
            "created_at": row.created_at,
        }
    )
