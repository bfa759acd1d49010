"""Event rows. Rows of earlier releases may hold several steps; reads return one event per step."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, asc, delete, desc, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Event

MOST_SHARED = 1000


class OneEvent(NamedTuple):
    job_id: str
    seq: int
    type: str
    data: dict[str, Any]
    ts: datetime


@dataclass(slots=True)
class MetricRun:
    kind: str
    first: int
    values: dict[str, list[float | None]]
    steps: list[int]
    ts: list[float]

    @classmethod
    def of_row(cls, row: Event) -> Self:
        data = row.data
        return cls(data["kind"], row.seq - row.count + 1, data["values"], data["step"], data["ts"])

    def cut(self, step: int) -> None:
        retained = bisect_right(self.steps, step)
        del self.steps[retained:], self.ts[retained:]
        for column in self.values.values():
            del column[retained:]

    def numbered_events(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for place, (step, ts) in enumerate(zip(self.steps, self.ts, strict=True)):
            values = {key: column[place] for key, column in self.values.items()}
            yield self.first + place, {"step": step, "kind": self.kind, "values": values, "ts": ts}

    def row(self) -> dict[str, Any]:
        count = len(self.steps)
        data: dict[str, Any] = {"kind": self.kind, "step": self.steps, "ts": self.ts, "values": self.values}
        if count == 1:
            [(_, data)] = self.numbered_events()
        return {
            "seq": self.first + count - 1,
            "type": "metrics",
            "data": data,
            "step": self.steps[-1],
            "count": count,
        }


def events_of(row: Event) -> list[OneEvent]:
    if row.count == 1:
        return [OneEvent(row.job_id, row.seq, row.type, row.data, row.ts)]
    run = MetricRun.of_row(row)
    return [OneEvent(row.job_id, seq, row.type, data, row.ts) for seq, data in run.numbered_events()]


async def after(session: AsyncSession, job_id: str, seq: int, limit: int) -> list[OneEvent]:
    shared = func.least(Event.count, Event.seq - seq)
    where = (Event.job_id == job_id, Event.seq > seq)
    rows = await _rows(session, shared, limit, where, newest_first=False)
    return [event for row in rows for event in events_of(row) if event.seq > seq][:limit]


async def before(
    session: AsyncSession, job_id: str, seq: int | None, limit: int, *conditions: ColumnElement[bool]
) -> list[OneEvent]:
    shared: ColumnElement[int] = Event.count.expression
    where = [Event.job_id == job_id, *conditions]
    if seq is not None:
        # The first condition says no more than the second, but it can use the index.
        where += [Event.seq < seq + MOST_SHARED, Event.seq - Event.count + 1 < seq]
        shared = func.least(Event.count, seq - (Event.seq - Event.count + 1))
    rows = await _rows(session, shared, limit, where, newest_first=True)
    events = [event for row in rows for event in reversed(events_of(row)) if seq is None or event.seq < seq]
    return events[:limit]


async def _rows(
    session: AsyncSession,
    shared: ColumnElement[int],
    limit: int,
    where: Iterable[ColumnElement[bool]],
    *,
    newest_first: bool,
) -> Sequence[Event]:
    order = desc if newest_first else asc
    rows = select(Event.job_id, Event.seq, shared.label("shared")).where(*where)
    few = rows.order_by(order(Event.seq)).limit(limit).subquery()
    earlier = func.sum(few.c.shared).over(order_by=order(few.c.seq)) - few.c.shared
    reached = select(few.c.job_id, few.c.seq, earlier.label("earlier")).subquery()
    query = (
        select(Event)
        .join(reached, (Event.job_id == reached.c.job_id) & (Event.seq == reached.c.seq))
        .where(reached.c.earlier < limit)
        .order_by(order(Event.seq))
    )
    return (await session.scalars(query)).all()


async def forget_after(session: AsyncSession, job_id: str, step: int) -> None:
    later = (Event.job_id == job_id, Event.step > step)
    for row in (await session.scalars(select(Event).where(*later, Event.count > 1))).all():
        run = MetricRun.of_row(row)
        run.cut(step)
        if run.steps:
            this_row = (Event.job_id == job_id, Event.seq == row.seq)
            await session.execute(update(Event).where(*this_row).values(run.row()))
    await session.execute(delete(Event).where(*later))
