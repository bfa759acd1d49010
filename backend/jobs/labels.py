"""Changes the name, notes and tags of a job, or archives it."""

from collections.abc import Iterable
from itertools import chain

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.http.conditional import Match
from backend.jobs.lifecycle import transitions
from backend.jobs.view import job_detail
from backend.models import Job, now
from reinforge.errors import InvalidInput, StateConflict
from reinforge.schemas.job_labels import MOST_TAGS, JobFacets, JobUpdate
from reinforge.states import FINAL

MOST_VALUES = 200


async def update(session: AsyncSession, project_id: str, id: str, body: JobUpdate, match: Match) -> Job:
    job = await transitions.lock_job(session, id, project_id)
    match.check(job_detail(job))
    if body.archived and job.status not in FINAL:
        raise StateConflict(
            f"The job is {job.status}; only a job that has ended can be archived.",
            code="job_not_ended",
            param="archived",
            hint="Cancel it, and archive it once it has stopped.",
        )
    if body.name is not None:
        job.name = body.name
    if body.notes is not None:
        job.notes = body.notes
    tags = _tags(job.tags if body.tags is None else body.tags, body)
    if tags != job.tags:
        job.tags = tags
    if body.archived is not None and body.archived is not (job.archived_at is not None):
        job.archived_at = now() if body.archived else None
    await session.flush()
    return job


def _tags(tags: Iterable[str], body: JobUpdate) -> list[str]:
    removed = set(body.remove_tags)
    merged = list(dict.fromkeys(tag for tag in chain(tags, body.add_tags) if tag not in removed))
    if len(merged) > MOST_TAGS:
        raise InvalidInput(
            f"A job can have at most {MOST_TAGS} tags, but this change would give it {len(merged)}.",
            code="too_many_tags",
            param="add_tags",
            hint="Remove other tags with `remove_tags`.",
        )
    return merged


async def facets(session: AsyncSession, project_id: str) -> JobFacets:
    async def distinct(column: object) -> list[str]:
        values = select(column.label("value")).where(Job.project_id == project_id, Job.purpose == "train")  # type: ignore[attr-defined]
        named = values.distinct().subquery()
        query = select(named.c.value).where(named.c.value.is_not(None)).order_by(named.c.value)
        return list(await session.scalars(query.limit(MOST_VALUES)))

    return JobFacets(
        tags=await distinct(func.jsonb_array_elements_text(Job.tags)),
        models=await distinct(Job.model_id),
        presets=await distinct(Job.resolved_spec["algorithm"]["preset"].as_string()),
        owners=await distinct(Job.created_by),
    )
