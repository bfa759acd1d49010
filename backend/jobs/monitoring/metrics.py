"""Metric series of a job in columns: every point, or one per bucket of steps with its extremes."""

import hashlib
from dataclasses import dataclass

import orjson
from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncSession

VERSION = "1"
"""Part of the entity tag: increase it when responses change."""

# One series after the other, each in the order of its index: sorting all of them at once would spill to disk.
_STATEMENT = """
WITH mine AS MATERIALIZED (
    SELECT id, kind, key FROM metric_series
    WHERE job_id = :job AND (CAST(:keys AS text[]) IS NULL OR key = ANY(:keys))
), grid AS MATERIALIZED ({grid})
SELECT job.seq, found.*
FROM job LEFT JOIN (
    SELECT mine.kind, mine.key, series.*
    FROM grid CROSS JOIN mine CROSS JOIN LATERAL ({series}) series
    WHERE series.steps IS NOT NULL
) found ON true
WHERE job.id = :job
ORDER BY found.kind, found.key
"""

_EVERY_STEP = """
SELECT coalesce(CAST(:from_step AS bigint), 0) AS first, coalesce(CAST(:to_step AS bigint), {last}) AS last
"""

_EVERY_POINT = """
SELECT array_to_json(array_agg(step ORDER BY step))::text AS steps,
       array_to_json(array_agg(value ORDER BY step))::text AS values,
       array_to_json(array_agg(ts ORDER BY step))::text AS ts,
       CAST(NULL AS text) AS minima, CAST(NULL AS text) AS maxima
FROM metric_point WHERE series_id = mine.id AND step BETWEEN grid.first AND grid.last{only}
"""

# First and last step are the whole job's, so that buckets begin at the same steps whichever keys are asked for.
_RUNS = """
SELECT first, last, greatest(1, (last - first) / :buckets + 1) AS width
FROM (
    SELECT greatest(CAST(:from_step AS bigint), min(ends.first)) AS first,
           least(CAST(:to_step AS bigint), max(ends.last)) AS last
    FROM metric_series s CROSS JOIN LATERAL (
        SELECT min(step) AS first, max(step) AS last FROM metric_point WHERE series_id = s.id
    ) ends
    WHERE s.job_id = :job
) span
"""

_BUCKETS = """
SELECT array_to_json(array_agg(p.step ORDER BY n))::text AS steps,
       array_to_json(array_agg(p.value ORDER BY n))::text AS values,
       array_to_json(array_agg(p.ts ORDER BY n))::text AS ts,
       CASE WHEN max(points) > 1 THEN array_to_json(array_agg(low ORDER BY n))::text END AS minima,
       CASE WHEN max(points) > 1 THEN array_to_json(array_agg(high ORDER BY n))::text END AS maxima
FROM (
    SELECT (step - grid.first) / grid.width AS n, count(*) AS points, min(value) AS low, max(value) AS high,
           coalesce(max(step) FILTER (WHERE value IS NOT NULL), max(step)) AS step
    FROM metric_point WHERE series_id = mine.id AND step BETWEEN grid.first AND grid.last AND grid.width > 1
    GROUP BY 1
) bucket
JOIN metric_point p ON p.series_id = mine.id AND p.step = bucket.step
"""

# Buckets of one step are the points themselves, had for a quarter of the work. PostgreSQL runs one of the two.
_POINTS_OR_BUCKETS = f"""
{_EVERY_POINT.format(only=" AND grid.width = 1")} UNION ALL
{_BUCKETS}
"""

_ALL = text(_STATEMENT.format(grid=_EVERY_STEP.format(last=2**62), series=_EVERY_POINT.format(only="")))
_SHORTENED = text(_STATEMENT.format(grid=_RUNS, series=_POINTS_OR_BUCKETS))


@dataclass(frozen=True)
class MetricFilter:
    buckets: int | None = None
    from_step: int | None = None
    to_step: int | None = None
    keys: tuple[str, ...] | None = None

    def etag(self, job_id: str, seq: int) -> str:
        key = (VERSION, job_id, seq, self.buckets, self.from_step, self.to_step, self.keys)
        return hashlib.sha256(repr(key).encode()).hexdigest()[:40]


async def read(session: AsyncSession, job_id: str, metric_filter: MetricFilter) -> tuple[bytes, int]:
    """`schemas.jobs.Metrics` as JSON, and its `seq`."""
    parameters = {
        "job": job_id,
        "from_step": metric_filter.from_step,
        "to_step": metric_filter.to_step,
        "keys": None if metric_filter.keys is None else list(metric_filter.keys),
    }
    if metric_filter.buckets is None:
        rows = (await session.execute(_ALL, parameters)).all()
    else:
        rows = (await session.execute(_SHORTENED, parameters | {"buckets": metric_filter.buckets})).all()
    answer = {"object": "metrics", "job": job_id, "seq": rows[0].seq}
    answer["series"] = [_series(row) for row in rows if row.key is not None]
    if metric_filter.buckets is not None:
        answer["buckets"] = metric_filter.buckets
    return orjson.dumps(answer), rows[0].seq


def _series(row: Row[tuple[object, ...]]) -> dict[str, object]:
    columns = {
        name: orjson.Fragment(getattr(row, name))
        for name in ("steps", "values", "ts", "minima", "maxima")
        if getattr(row, name) is not None
    }
    return {"key": row.key, "kind": row.kind} | columns
