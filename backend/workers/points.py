"""Metric points, stored idempotently: the same step reported again replaces its points."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import MetricPoint, MetricSeries


async def store_points(
    session: AsyncSession, job_id: str, kind: str, step: int, ts: float, values: dict[str, float | None]
) -> None:
    """One point per key; None where the metric was not defined. The job's row is locked, so series do not race."""
    if not values:
        return
    series = await _series(session, job_id, kind, list(values))
    statement = insert(MetricPoint).values(
        [{"series_id": series[key], "step": step, "ts": ts, "value": value} for key, value in values.items()]
    )
    fresh = {"ts": statement.excluded.ts, "value": statement.excluded.value}
    await session.execute(statement.on_conflict_do_update(index_elements=["series_id", "step"], set_=fresh))


async def _series(session: AsyncSession, job_id: str, kind: str, keys: list[str]) -> dict[str, int]:
    """Key → id of its series, made where missing."""
    mine = select(MetricSeries.key, MetricSeries.id).where(
        MetricSeries.job_id == job_id, MetricSeries.kind == kind
    )
    known = {row.key: row.id for row in await session.execute(mine)}
    missing = [{"job_id": job_id, "kind": kind, "key": key} for key in keys if key not in known]
    if missing:
        added = await session.execute(
            insert(MetricSeries).values(missing).returning(MetricSeries.key, MetricSeries.id)
        )
        known |= {row.key: row.id for row in added}
    return known
