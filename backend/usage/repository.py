"""Queries about usage and budgets."""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Select, case, func, literal, select, union
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import (
    Adapter,
    BudgetRow,
    Checkpoint,
    Dataset,
    Deployment,
    EvaluationRow,
    Job,
    ResumeState,
    Reward,
    StepRollouts,
    StoredObject,
    Upload,
    UploadPart,
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
    rows: Sequence[Any] = (await session.execute(query)).all()
    return rows


async def by_source(
    session: AsyncSession, project_id: str, first: date
) -> list[tuple[str, str | None, dict[UsageKind, float]]]:
    used = (
        select(UsageRow.source, UsageRow.kind, func.sum(UsageRow.amount).label("amount"))
        .where(UsageRow.project_id == project_id, UsageRow.day >= first, UsageRow.source != "")
        .group_by(UsageRow.source, UsageRow.kind)
        .cte()
    )
    shares = select(
        used.c.source, (used.c.amount / func.sum(used.c.amount).over(partition_by=used.c.kind)).label("share")
    ).subquery()
    most = select(shares.c.source).group_by(shares.c.source)
    most = most.order_by(func.max(shares.c.share).desc(), shares.c.source).limit(_MOST_SOURCES)
    sources = list(await session.scalars(most))
    sums = await session.execute(select(used).where(used.c.source.in_(sources)))
    amounts: dict[str, dict[UsageKind, float]] = {}
    for source, kind, amount in sums:
        amounts.setdefault(source, {})[kind] = amount
    names = await _names(session, sources)
    return [(source, names.get(source), amounts[source]) for source in sources]


async def _names(session: AsyncSession, sources: Sequence[str]) -> dict[str, str]:
    tables: tuple[Any, ...] = (Job, Deployment, EvaluationRow, Reward)
    queries = [select(table.id, table.name).where(table.id.in_(sources)) for table in tables]
    replays = select(EvaluationRow.id, func.concat(literal("Replay of "), Job.name))
    replays = replays.join(Job, Job.id == EvaluationRow.job_id).where(EvaluationRow.id.in_(sources))
    of_job = func.concat(Job.name, literal(", step "), Checkpoint.step)
    checkpoints = select(Checkpoint.id, of_job).join(Job, Job.id == Checkpoint.job_id)
    query = union(*queries, replays, checkpoints.where(Checkpoint.id.in_(sources)))
    return {id: name for id, name in await session.execute(query) if name}


async def budgets(
    session: AsyncSession, project_id: str, today: date, kinds: Collection[UsageKind] | None = None
) -> list[tuple[BudgetRow, float]]:
    since = case(
        (BudgetRow.period == "day", today),
        (BudgetRow.period == "month", today.replace(day=1)),
        else_=date.min,
    )
    used = select(func.coalesce(func.sum(UsageRow.amount), 0.0)).where(
        UsageRow.project_id == BudgetRow.project_id, UsageRow.kind == BudgetRow.kind, UsageRow.day >= since
    )
    query = select(BudgetRow, used.scalar_subquery()).where(BudgetRow.project_id == project_id)
    if kinds is not None:
        query = query.where(BudgetRow.kind.in_(kinds))
    rows = await session.execute(query.order_by(BudgetRow.kind, BudgetRow.period))
    return [(row, float(amount)) for row, amount in rows]


async def storage(session: AsyncSession, project_id: str | None = None) -> list[tuple[str, int]]:
    """Stored bytes of each project. An object that several projects share counts for each."""
    direct: list[Any] = [select(table.project_id, table.sha256) for table in (Dataset, Adapter, Deployment)]
    direct.append(
        select(Upload.project_id, UploadPart.sha256).join(Upload, Upload.id == UploadPart.upload_id)
    )
    of_jobs = [
        select(Job.project_id, table.sha256).join(table, table.job_id == Job.id)
        for table in (Checkpoint, ResumeState, StepRollouts)
    ]
    direct.append(select(Job.project_id, Job.start_sha256).where(Job.start_sha256.is_not(None)))
    if project_id is not None:
        direct = [query.where(query.selected_columns[0] == project_id) for query in direct]
        of_jobs = [query.where(Job.project_id == project_id) for query in of_jobs]
    references = union(*direct, *of_jobs).subquery()
    query = (
        select(references.c.project_id, func.sum(StoredObject.bytes))
        .join(StoredObject, StoredObject.sha256 == references.c.sha256)
        .group_by(references.c.project_id)
    )
    stored = Counter({row[0]: int(row[1]) for row in await session.execute(query)})
    for row in await session.execute(_in_bucket(project_id)):
        stored[row[0]] += int(row[1])
    return list(stored.items())


def _in_bucket(project_id: str | None) -> Select[str, int]:
    query = select(Upload.project_id, func.sum(UploadPart.bytes)).join(
        Upload, Upload.id == UploadPart.upload_id
    )
    query = query.where(UploadPart.sha256.is_(None)).group_by(Upload.project_id)
    return query if project_id is None else query.where(Upload.project_id == project_id)


async def locked_storage_budget(session: AsyncSession, project_id: str) -> float | None:
    query = select(BudgetRow.amount).where(
        BudgetRow.project_id == project_id, BudgetRow.kind == "storage_bytes"
    )
    amount: float | None = await session.scalar(query.with_for_update())
    return amount
