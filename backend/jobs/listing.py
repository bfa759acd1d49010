"""The list of jobs: filters, order by any setting, pages."""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from fastapi import Query
from sqlalchemy import Select, Text, and_, case, cast, func, literal, or_, select, tuple_
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.cursors import invalid_cursor
from backend.models import Checkpoint, Job, JobReward, now
from reinforge.errors import InvalidInput
from reinforge.schemas.job_labels import Archived
from reinforge.states import JobStatus

Text50 = Annotated[str, Query(max_length=50)]
MOST_SETTINGS = 20
_PATH = re.compile(r"[a-z0-9_]+(\.[A-Za-z0-9_-]+){0,9}")
_SPEC = "spec."


@dataclass(frozen=True)
class JobFilters:
    conditions: list[Any]


async def job_filters(
    status: Annotated[list[JobStatus] | None, Query()] = None,
    dataset: str | None = None,
    reward: str | None = None,
    q: Annotated[str | None, Query(max_length=200)] = None,
    tag: Annotated[list[Text50] | None, Query(max_length=20)] = None,
    model: str | None = None,
    preset: str | None = None,
    owner: str | None = None,
    archived: Archived = "exclude",
) -> JobFilters:
    conditions: list[Any] = [Job.purpose == "train"]
    add = conditions.append
    if status:
        add(Job.status.in_(status))
    if dataset is not None:
        add(or_(Job.dataset_id == dataset, Job.held_out_dataset_id == dataset))
    if reward is not None:
        add(Job.id.in_(select(JobReward.job_id).where(JobReward.reward_id == reward)))
    if q is not None:
        part = q.strip()
        add(or_(Job.name.icontains(part, autoescape=True), Job.id.icontains(part, autoescape=True)))
    if tag:
        add(Job.tags.contains(tag))
    if model is not None:
        add(Job.model_id == model)
    if preset is not None:
        add(Job.resolved_spec["algorithm"]["preset"].as_string() == preset)
    if owner is not None:
        add(Job.created_by == owner)
    if archived != "include":
        add(Job.archived_at.is_(None) if archived == "exclude" else Job.archived_at.is_not(None))
    return JobFilters(conditions)


@dataclass(frozen=True)
class ListedJobs:
    jobs: list[Job]
    settings: list[dict[str, Any]]
    next_cursor: str | None


@dataclass(frozen=True)
class ListPosition:
    sort: str
    value: str | None
    created_at: datetime
    id: str
    at: datetime

    def encode(self) -> str:
        parts = [self.sort, self.value, self.created_at.isoformat(), self.id, self.at.isoformat()]
        return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


def decode(cursor: str, sort: str) -> ListPosition:
    try:
        raw = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        order, value, created_at, id, at = raw
        texts = (order, created_at, id, at, value or "")
        if not all(isinstance(text, str) and "\0" not in text for text in texts) or order != sort:
            raise ValueError(cursor)
        if value is not None:
            if "\\u0000" in value:
                raise ValueError(cursor)
            json.loads(value, parse_constant=_refuse)
        times = datetime.fromisoformat(created_at), datetime.fromisoformat(at)
        if any(time.tzinfo is None for time in times):
            raise ValueError(cursor)
        return ListPosition(order, value, times[0], id, times[1])
    except (ValueError, TypeError, binascii.Error, RecursionError) as error:
        raise invalid_cursor() from error


def _refuse(text: str) -> None:
    raise ValueError(text)


async def page(
    session: AsyncSession,
    project_id: str,
    filters: JobFilters,
    *,
    limit: int,
    after: str | None,
    sort: str,
    settings: list[str],
) -> ListedJobs:
    """A page of jobs. Jobs that lack the sort value come last in either direction; ties are newest first."""
    position = decode(after, sort) if after is not None else None
    at = position.at if position else now()
    descending, value = sort.startswith("-"), _value(sort.removeprefix("-"), at)
    value_text = literal(None, Text) if value is Job.created_at else cast(value, Text)
    columns = [setting(path).label(f"setting_{number}") for number, path in enumerate(settings)]
    query = select(Job, value_text.label("position"), *columns).where(
        Job.project_id == project_id, *filters.conditions
    )
    query = _ordered(query, value, position, descending=descending).limit(limit + 1)
    rows = (await session.execute(query)).all()
    page_rows, next_cursor = rows[:limit], None
    if len(rows) > limit:
        last = page_rows[-1]
        next_cursor = ListPosition(sort, last[1], last[0].created_at, last[0].id, at).encode()
    values = [dict(zip(settings, row[2:], strict=True)) for row in page_rows]
    return ListedJobs([row[0] for row in page_rows], values, next_cursor)


def _ordered(query: Select[Any], value: Any, after: ListPosition | None, *, descending: bool) -> Select[Any]:
    if after is not None:
        # Created before, as one row value, so that an index finds the place.
        older = tuple_(Job.created_at, Job.id) < tuple_(literal(after.created_at), literal(after.id))
        if value is Job.created_at:
            newer = tuple_(Job.created_at, Job.id) > tuple_(literal(after.created_at), literal(after.id))
            query = query.where(older if descending else newer)
        elif after.value is None:
            query = query.where(value.is_(None), older)
        else:
            last = cast(literal(after.value, Text), JSONB)
            beyond = value < last if descending else value > last
            query = query.where(or_(beyond, and_(value == last, older), value.is_(None)))
    if value is Job.created_at:
        order = (value.desc(), Job.id.desc()) if descending else (value, Job.id)
        return query.order_by(*order)
    first = value.desc() if descending else value.asc()
    return query.order_by(first.nulls_last(), Job.created_at.desc(), Job.id.desc())


def setting(path: str) -> Any:
    if len(path) > 200 or not _PATH.fullmatch(path):
        raise InvalidInput(
            f"{path[:50]!r} is not a path in a specification.",
            code="unknown_path",
            param="setting",
            hint="Use a dotted path such as optimizer.learning_rate.",
        )
    json_value = Job.resolved_spec[tuple(path.split("."))]
    return func.nullif(json_value, cast(literal("null", Text), JSONB), type_=JSONB)


def _value(sort: str, at: datetime) -> Any:
    if sort == "created":
        return Job.created_at
    if sort.startswith(_SPEC):
        return setting(sort.removeprefix(_SPEC))
    seconds = func.extract("epoch", func.coalesce(Job.finished_at, literal(at)) - Job.started_at)
    best = select(Checkpoint.held_out_reward).where(
        Checkpoint.job_id == Job.id, Checkpoint.step == Job.best_step
    )
    values: dict[str, Any] = {
        "name": func.lower(Job.name),
        "status": Job.status,
        "held_out_reward_before": Job.held_out_reward_before,
        "held_out_reward_best": best.correlate(Job).scalar_subquery(),
        "held_out_reward": Job.held_out_reward,
        "step": Job.step,
        "steps": Job.steps,
        "duration": case((Job.started_at.is_not(None), seconds)),
    }
    if sort not in values:
        raise InvalidInput(
            f"Jobs cannot be sorted by {sort[:50]!r}.",
            code="unknown_sort",
            param="sort",
            hint=f"Sort by created, {', '.join(values)} or a setting, such as spec.optimizer.learning_rate; "
            "a leading minus reverses the order.",
        )
    return func.to_jsonb(values[sort], type_=JSONB)


async def best_rewards(session: AsyncSession, jobs: list[Job]) -> dict[str, float | None]:
    query = select(Checkpoint.job_id, Checkpoint.held_out_reward).join(Job, Job.id == Checkpoint.job_id)
    query = query.where(Checkpoint.step == Job.best_step, Job.id.in_([job.id for job in jobs]))
    return {row[0]: row[1] for row in await session.execute(query)}
