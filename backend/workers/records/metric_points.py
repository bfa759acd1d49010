"""Idempotent storage of metric points: a repeated step replaces its points."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.bulk import insert_columns
from backend.models import MetricPoint, MetricSeries

_SERIES_COLUMNS = (MetricSeries.kind, MetricSeries.key, MetricSeries.id)
_SERIES = select(
    *_SERIES_COLUMNS,
    select(func.max(MetricPoint.step))
    .where(MetricPoint.series_id == MetricSeries.id)
    .scalar_subquery()
    .label("newest"),
).where(MetricSeries.job_id == bindparam("job"))


class Points:
    def __init__(self, session: AsyncSession, job_id: str) -> None:
        self._session, self._job_id = session, job_id
        self._waiting: defaultdict[tuple[str, str], dict[int, tuple[float, float | None]]] = defaultdict(dict)

    def add(
        self,
        kind: str,
        steps: Sequence[int],
        ts: Sequence[float],
        values: Mapping[str, Sequence[float | None]],
    ) -> None:
        for key, column in values.items():
            self._waiting[kind, key].update(zip(steps, zip(ts, column, strict=True), strict=True))

    async def store(self) -> None:
        waiting, self._waiting = self._waiting, defaultdict(dict)
        if not waiting:
            return
        series = await self._series(set(waiting))
        columns: dict[str, list[float | None]] = {"series_id": [], "step": [], "ts": [], "value": []}
        repeated = False
        for name, points in waiting.items():
            id, newest = series[name]
            # Looking for what a row replaces costs half as much again as storing it.
            repeated |= newest is not None and min(points) <= newest
            columns["series_id"] += [id] * len(points)
            columns["step"] += points
            columns["ts"] += [ts for ts, _ in points.values()]
            columns["value"] += [value for _, value in points.values()]
        await insert_columns(self._session, MetricPoint, columns, replacing=repeated)

    async def _series(self, names: set[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, int | None]]:
        rows = await self._session.execute(_SERIES, {"job": self._job_id})
        series: dict[tuple[str, str], tuple[int, int | None]]
        series = {(row.kind, row.key): (row.id, row.newest) for row in rows}
        missing = [
            {"job_id": self._job_id, "kind": kind, "key": key} for kind, key in sorted(names - series.keys())
        ]
        if missing:
            added = await self._session.execute(
                insert(MetricSeries).values(missing).returning(*_SERIES_COLUMNS)
            )
            series |= {(row.kind, row.key): (row.id, None) for row in added}
        return series
