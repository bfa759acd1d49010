"""Curves on one grid of steps: one per job, or one per group of jobs with mean, minimum and maximum."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from backend.jobs.comparison.groups import grouped
from backend.jobs.comparison.measured import jobs_of
from reinforge.schemas.comparison import ComparedCurve, CurveComparison, MetricCurves

DIGITS = 6
Points = dict[int, tuple[int, float | None]]

_POINTS = text("""
WITH series AS MATERIALIZED (
    SELECT id, job_id, key FROM metric_series
    WHERE job_id = ANY(:jobs) AND key = ANY(:keys) AND (kind = 'held_out') = starts_with(key, 'held_out/')
), grid AS MATERIALIZED (
    SELECT min(first) AS first, greatest(1, (max(last) - min(first)) / :buckets + 1) AS width
    FROM series CROSS JOIN LATERAL (
        SELECT min(step) AS first, max(step) AS last FROM metric_point WHERE series_id = series.id
    ) AS ends
)
SELECT series.job_id, series.key, points.*
FROM grid CROSS JOIN series CROSS JOIN LATERAL (
    SELECT array_agg(bucket ORDER BY bucket) AS buckets, array_agg(step ORDER BY bucket) AS steps,
        array_agg(value ORDER BY bucket) AS values
    FROM (
        SELECT DISTINCT ON (bucket) (step - grid.first) / grid.width AS bucket, step, value
        FROM metric_point WHERE series_id = series.id
        ORDER BY bucket, value IS NULL, step DESC
    ) AS last_points
) AS points
WHERE points.steps IS NOT NULL
""")


async def compare_curves(
    session: AsyncSession,
    project_id: str,
    ids: Sequence[str],
    keys: Sequence[str],
    *,
    group: str | None,
    buckets: int,
) -> CurveComparison:
    jobs = await jobs_of(session, project_id, ids)
    groups = None if group is None else grouped(jobs, group)
    rows = await session.execute(_POINTS, {"jobs": list(ids), "keys": list(keys), "buckets": buckets})
    points: dict[tuple[str, str], Points] = {
        (row.job_id, row.key): {
            bucket: (step, value)
            for bucket, step, value in zip(row.buckets, row.steps, row.values, strict=True)
        }
        for row in rows
    }
    data = []
    for key in dict.fromkeys(keys):
        curves = {id: points[id, key] for id in ids if (id, key) in points}
        if groups is None:
            lines = [_of_job(id, curve) for id, curve in curves.items()]
        else:
            parts = [
                (group.label, [curves[ids[place]] for place in group.members if ids[place] in curves])
                for group in groups
            ]
            lines = [_of_group(label, part) for label, part in parts if part]
        data.append(MetricCurves(key=key, curves=lines))
    return CurveComparison(buckets=buckets, data=data)


def _of_job(id: str, points: Points) -> ComparedCurve:
    return ComparedCurve(
        job=id,
        group=None,
        steps=[step for step, _ in points.values()],
        values=[_short(value) for _, value in points.values()],
        minima=None,
        maxima=None,
        jobs=None,
    )


def _of_group(label: str, curves: Sequence[Points]) -> ComparedCurve:
    steps: dict[int, int] = {}
    values: dict[int, list[float]] = defaultdict(list)
    for points in curves:
        for bucket, (step, value) in points.items():
            steps[bucket] = max(step, steps.get(bucket, step))
            if value is not None:
                values[bucket].append(value)
    order = sorted(steps)
    rows = [values[bucket] for bucket in order]
    return ComparedCurve(
        job=None,
        group=label,
        steps=[steps[bucket] for bucket in order],
        values=[_short(sum(row) / len(row)) if row else None for row in rows],
        minima=[_short(min(row)) if row else None for row in rows],
        maxima=[_short(max(row)) if row else None for row in rows],
        jobs=[len(row) for row in rows],
    )


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")
