"""Queries about trackers and exports."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import ExportRow, Job, TrackerRow, now

OPEN = ("pending", "live")
_POINTS = text(
    "SELECT s.kind, s.key, p.step, p.ts, p.value FROM metric_series s JOIN metric_point p ON p.series_id = s.id"
    " WHERE s.job_id = :job AND p.step > :after AND p.step <= :last AND p.value IS NOT NULL ORDER BY p.step, s.key"
)


async def find(session: AsyncSession, project_id: str, id: str) -> TrackerRow | None:
    query = select(TrackerRow).where(TrackerRow.project_id == project_id)
    tracker: TrackerRow | None = await session.scalar(
        query.where((TrackerRow.id == id) | (TrackerRow.name == id)).order_by(TrackerRow.id == id).limit(1)
    )
    return tracker


async def of_project(session: AsyncSession, project_id: str) -> list[TrackerRow]:
    query = select(TrackerRow).where(TrackerRow.project_id == project_id).order_by(TrackerRow.name)
    return list(await session.scalars(query))


async def job_of(session: AsyncSession, project_id: str, id: str) -> Job | None:
    query = select(Job).where(Job.id == id, Job.project_id == project_id, Job.purpose == "train")
    job: Job | None = await session.scalar(query)
    return job


async def of_job(session: AsyncSession, job_id: str) -> list[tuple[ExportRow, TrackerRow]]:
    query = select(ExportRow, TrackerRow).join(TrackerRow, TrackerRow.id == ExportRow.tracker_id)
    query = query.where(ExportRow.job_id == job_id).order_by(ExportRow.created_at, ExportRow.id)
    return [(row[0], row[1]) for row in await session.execute(query)]


async def restart(session: AsyncSession, tracker_id: str, *, elsewhere: bool) -> None:
    """Attempt all unfinished exports to a tracker again. elsewhere: from the first step, as new runs."""
    unfinished = (ExportRow.tracker_id == tracker_id, ExportRow.state != "done")
    values: dict[str, Any] = {"state": "pending", "tries": 0, "next_at": now()}
    if elsewhere:
        values |= {"step": -1, "run_id": None, "run_url": None}
    await session.execute(update(ExportRow).where(*unfinished).values(values))


async def take_due(session: AsyncSession, *, most: int, lease: timedelta) -> Sequence[ExportRow]:
    due = (
        select(ExportRow)
        .where(ExportRow.state.in_(OPEN), ExportRow.next_at <= now())
        .order_by(ExportRow.next_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    exports = (await session.scalars(due)).all()
    for export in exports:
        export.next_at = now() + lease
    return exports


async def points(
    session: AsyncSession, job_id: str, after: int, last: int
) -> dict[int, tuple[float, dict[str, float]]]:
    steps: dict[int, tuple[float, dict[str, float]]] = {}
    rows = await session.execute(_POINTS, {"job": job_id, "after": after, "last": last})
    for kind, key, step, ts, value in rows:
        name = f"held_out/{key}" if kind == "held_out" and not key.startswith(("eval/", "held_out/")) else key
        time, values = steps.setdefault(step, (ts, {}))
        values[name] = value
        steps[step] = (max(time, ts), values)
    return steps
