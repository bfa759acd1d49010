"""Queries about e-mails and who receives them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import Mail, Member, Project, User, now

CONFIRMATION = "confirmation"


async def subscribers(session: AsyncSession, project_id: str) -> list[tuple[Member, User]]:
    query = select(Member, User).join(User, User.id == Member.user_id)
    query = query.where(
        Member.project_id == project_id,
        func.jsonb_array_length(Member.mail_events) > 0,
        User.confirmed_email == User.email,
    )
    return [(member, user) for member, user in await session.execute(query)]


async def recent(
    session: AsyncSession, user_id: str, within: timedelta, *, confirmations: bool, address: str | None = None
) -> int:
    query = select(func.count()).select_from(Mail).where(Mail.created_at > now() - within)
    query = query.where(Mail.user_id == user_id if address is None else Mail.address == address)
    query = query.where((Mail.type == CONFIRMATION) if confirmations else (Mail.type != CONFIRMATION))
    return await session.scalar(query) or 0


async def newest_confirmation(session: AsyncSession, user_id: str, address: str) -> Mail | None:
    query = select(Mail).where(Mail.user_id == user_id, Mail.type == CONFIRMATION, Mail.address == address)
    newest: Mail | None = await session.scalar(query.order_by(Mail.created_at.desc()).limit(1))
    return newest


async def member(session: AsyncSession, id: str) -> tuple[Member, Project] | None:
    query = select(Member, Project).join(Project, Project.id == Member.project_id).where(Member.id == id)
    row = (await session.execute(query)).one_or_none()
    return None if row is None else (row[0], row[1])


async def take_due(session: AsyncSession, *, most: int, lease: timedelta) -> Sequence[Mail]:
    """Due messages, postponed by `lease`, so that no other process takes them."""
    due = (
        select(Mail)
        .where(Mail.state == "pending", Mail.next_at <= now())
        .order_by(Mail.next_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    )
    mails = (await session.scalars(due)).all()
    for mail in mails:
        mail.next_at = now() + lease
    return mails


async def forget(session: AsyncSession, before: datetime) -> None:
    await session.execute(delete(Mail).where(Mail.created_at < before))
