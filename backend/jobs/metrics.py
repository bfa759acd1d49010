"""All metric series of a job, columnar."""

from itertools import groupby
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Job, MetricPoint, MetricSeries


async def columns(session: AsyncSession, job_id: str) -> dict[str, Any]:
    """The shape of `schemas.jobs.Metrics`, as plain values: a long job has millions of them.

    One statement reads the points and `seq` in one snapshot, so that a stream continued from `seq` neither
    repeats nor leaves out a point.
    """
    query = (
        select(
            Job.seq, MetricSeries.kind, MetricSeries.key, MetricPoint.step, MetricPoint.value, MetricPoint.ts
        )
        .outerjoin(MetricSeries, MetricSeries.job_id == Job.id)
        .outerjoin(MetricPoint, MetricPoint.series_id == MetricSeries.id)
        .where(Job.id == job_id)
        .order_by(MetricSeries.kind, MetricSeries.key, MetricPoint.step)
    )
    rows = (await session.execute(query)).all()
    series: list[dict[str, Any]] = []
    for (kind, key), points in groupby(rows, key=lambda row: (row.kind, row.key)):
        found = [(point.step, point.value, point.ts) for point in points if point.step is not None]
        if found:
            steps, values, ts = zip(*found, strict=True)
            series.append({"key": key, "kind": kind, "steps": steps, "values": values, "ts": ts})
    return {"object": "metrics", "job": job_id, "seq": rows[0].seq, "series": series}
