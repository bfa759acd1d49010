"""Share links: creation, revocation, and the rights of their creators."""

import secrets
from datetime import timedelta

from sqlalchemy import delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal, digest, membership, principal_of_key
from backend.data.ids import new_id
from backend.jobs.lifecycle.transitions import lock_job
from backend.jobs.repository import find
from backend.models import ApiKey, Job, User, now
from backend.models import JobShare as ShareRow
from reinforge.errors import NotFound, StateConflict
from reinforge.schemas.job_shares import JobShare, JobShareCreate, JobShareCreated

MOST = 50


async def create(
    session: AsyncSession, who: Principal, job_id: str, body: JobShareCreate, base_url: str
) -> JobShareCreated:
    job = await lock_job(session, job_id, who.project_id)
    count = await session.scalar(select(func.count()).where(ShareRow.job_id == job.id))
    if (count or 0) >= MOST:
        raise StateConflict(
            f"The job already has {MOST} share links, the maximum.",
            code="too_many_shares",
            hint="Revoke those that nobody needs.",
        )
    token = secrets.token_urlsafe(32)
    row = ShareRow(
        id=new_id("shr_"),
        sha256=digest(token),
        project_id=who.project_id,
        job_id=job.id,
        user_id=who.user_id,
        key_id=who.key_id if who.user_id is None else None,
        created_by=who.name,
        samples=body.samples,
        expires_at=now() + timedelta(days=body.expires_in_days) if body.expires_in_days else None,
    )
    session.add(row)
    await session.flush()
    view = await _view(session, row)
    return JobShareCreated(**view.model_dump(), url=f"{base_url.rstrip('/')}/shared/{token}")


async def views(session: AsyncSession, project_id: str, job_id: str) -> list[JobShare]:
    await find(session, project_id, job_id)
    query = select(ShareRow).where(ShareRow.job_id == job_id)
    rows = await session.scalars(query.order_by(ShareRow.created_at.desc(), ShareRow.id))
    return [await _view(session, row) for row in rows]


async def revoke(session: AsyncSession, project_id: str, job_id: str, id: str) -> None:
    await find(session, project_id, job_id)
    query = delete(ShareRow).where(ShareRow.id == id, ShareRow.job_id == job_id).returning(ShareRow.id)
    if await session.scalar(query) is None:
        raise NotFound(f"The job has no share link {id}.", code="share_not_found")


async def resolve(session: AsyncSession, token: str) -> tuple[ShareRow, Job]:
    """Share and job of a valid link. Raises the same NotFound for unknown, expired and revoked links."""
    valid = or_(ShareRow.expires_at.is_(None), ShareRow.expires_at > now())
    query = select(ShareRow, Job).join(Job, Job.id == ShareRow.job_id)
    row = (await session.execute(query.where(ShareRow.sha256 == digest(token), valid))).one_or_none()
    if row is None or not await _is_authorised(session, row[0]):
        raise NotFound(
            "This link shows nothing: it is unknown, has expired or was revoked.",
            code="share_not_found",
            hint="Ask whoever sent it for another one.",
        )
    return row[0], row[1]


async def _is_authorised(session: AsyncSession, row: ShareRow) -> bool:
    if row.key_id is not None:
        key = await principal_of_key(session, ApiKey.id == row.key_id)
        return key is not None and key.role != "viewer"
    if row.user_id is None:
        return False
    user = await session.get(User, row.user_id, populate_existing=True)
    if user is not None and user.administrator:
        return True
    member = await membership(session, row.user_id, row.project_id)
    return member is not None and member.role != "viewer"


async def _view(session: AsyncSession, row: ShareRow) -> JobShare:
    valid = row.expires_at is None or row.expires_at > now()
    return JobShare(
        id=row.id,
        job=row.job_id,
        samples=row.samples,
        created_by=row.created_by,
        created_at=row.created_at,
        expires_at=row.expires_at,
        active=valid and await _is_authorised(session, row),
    )
