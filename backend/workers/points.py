"""Metric points, stored idempotently: the same step reported again replaces its points."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from backend.bulk import insert_many
from backend.models import MetricPoint, MetricSeries

_COLUMNS = ("series_id", "step", "ts", "value")


class Points:
    """The points of one batch of records: gathered one by one, stored together.

    The job's row is locked, so series do not race.
    """

    def __init__(self, session: AsyncSession, job_id: str) -> None:
        self._session, self._job_id = session, job_id
        self._waiting: dict[tuple[str, str, int], tuple[float, float | None]] = {}
        """Kind, key and step → time and value: the last word on each counts."""

    def add(self, kind: str, step: int, ts: float, values: dict[str, float | None]) -> None:
        """One point per key; None where the metric was not defined."""
        for key, value in values.items():
            self._waiting[kind, key, step] = (ts, value)

    async def store(self) -> None:
        """What has been gathered since the last time."""
        waiting, self._waiting = self._waiting, {}
        if not waiting:
            return
        series = await self._series({(kind, key) for kind, key, _ in waiting})
        rows = [
            {"series_id": series[kind, key], "step": step, "ts": ts, "value": value}
            for (kind, key, step), (ts, value) in waiting.items()
        ]
        await insert_many(self._session, MetricPoint, _COLUMNS, rows, replacing=True)

    async def _series(self, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], int]:
        """Kind and key → id of the series, made where missing."""
        table = (MetricSeries.kind, MetricSeries.key, MetricSeries.id)
        mine = await self._session.execute(select(*table).where(MetricSeries.job_id == self._job_id))
        known = {(row.kind, row.key): row.id for row in mine}
        missing = [
            {"job_id": self._job_id, "kind": kind, "key": key} for kind, key in sorted(wanted - known.keys())
        ]
        if missing:
            added = await self._session.execute(insert(MetricSeries).values(missing).returning(*table))
            known |= {(row.kind, row.key): row.id for row in added}
        return known
