"""Queries about usage and budgets."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from sqlalchemy import func, select, union
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import (
    Adapter,
    BudgetRow,
    Checkpoint,
    Dataset,
    Job,
    ResumeState,
    StepRollouts,
    StoredObject,
    UsageRow,
)
from reinforge.schemas.usage import UsageKind

_MOST_SOURCES = 20


async def by_day(
    session: AsyncSession, project_id: str, first: date
) -> Sequence[tuple[date, UsageKind, float]]:
    query = (
        select(UsageRow.day, UsageRow.kind, func.sum(UsageRow.amount))
        .where(UsageRow.project_id == project_id, UsageRow.day >= first)
        .group_by(UsageRow.day, UsageRow.kind)
    )
    found: Sequence[Any] = (await session.execute(query)).all()
    return found


async def by_source(
    session: AsyncSession, project_id: str, first: date
) -> list[tuple[str, str | None, dict[UsageKind, float]]]:
    """Id, name (of jobs) and amounts of those that used most device time."""
    device = func.sum(UsageRow.amount).filter(UsageRow.kind == "device_seconds")
    mine = (UsageRow.project_id == project_id, UsageRow.day >= first, UsageRow.source != "")
    most = select(UsageRow.source).where(*mine).group_by(UsageRow.source)
    sources = list(await session.scalars(most.order_by(device.desc().nulls_last()).limit(_MOST_SOURCES)))
    sums = await session.execute(
        select(UsageRow.source, UsageRow.kind, func.sum(UsageRow.amount))
        .where(*mine, UsageRow.source.in_(sources))
        .group_by(UsageRow.source, UsageRow.kind)
    )
    amounts: dict[str, dict[UsageKind, float]] = {}
    for source, kind, amount in sums:
        amounts.setdefault(source, {})[kind] = amount  # type: ignore[index]
    jobs = await session.execute(select(Job.id, Job.name).where(Job.id.in_(sources)))
    names = {row.id: row.name for row in jobs}
    return [(source, names.get(source), amounts[source]) for source in sources]


async def used(session: AsyncSession, project_id: str, kind: str, since: date | None) -> float:
    query = select(func.coalesce(func.sum(UsageRow.amount), 0.0)).where(
        UsageRow.project_id == project_id, UsageRow.kind == kind
    )
    return float(await session.scalar(query if since is None else query.where(UsageRow.day >= since)) or 0.0)


async def budgets(session: AsyncSession, project_id: str) -> list[BudgetRow]:
    query = select(BudgetRow).where(BudgetRow.project_id == project_id)
    return list(await session.scalars(query.order_by(BudgetRow.kind, BudgetRow.period)))


async def storage(session: AsyncSession, project_id: str | None = None) -> list[tuple[str, int]]:
    """Project → bytes of the objects that its things refer to, each object once; of one project or all.

    An object that two projects share counts for both: neither could do without it.
    """
    direct = [select(table.project_id, table.sha256) for table in (Dataset, Adapter)]
    of_jobs = [
        select(Job.project_id, table.sha256).join(table, table.job_id == Job.id)
        for table in (Checkpoint, ResumeState, StepRollouts)
    ]
    if project_id is not None:
        direct = [query.where(query.selected_columns[0] == project_id) for query in direct]
        of_jobs = [query.where(Job.project_id == project_id) for query in of_jobs]
    held = union(*direct, *of_jobs).subquery()
    query = (
        select(held.c.project_id, func.sum(StoredObject.bytes))
        .join(StoredObject, StoredObject.sha256 == held.c.sha256)
        .group_by(held.c.project_id)
    )
    return [(row[0], int(row[1])) for row in await session.execute(query)]
