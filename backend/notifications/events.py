"""E-mails about events, queued in the transaction that causes them."""

from datetime import timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.ids import new_id
from backend.models import Mail, now
from backend.notifications import repository

RETRIED_FOR = timedelta(hours=24)
HOURLY = 30


async def queue_mails(session: AsyncSession, project_id: str, type: str, data: dict[str, Any]) -> None:
    for member, user in await repository.subscribers(session, project_id):
        if type not in member.mail_events:
            continue
        count = await repository.recent(session, user.id, timedelta(hours=1), confirmations=False)
        if count < HOURLY:
            last = {"last_of_hour": True} if count == HOURLY - 1 else {}
            session.add(mail(type, user.id, str(user.email), data | last, member.id))


def mail(type: str, user_id: str, address: str, data: dict[str, Any], member_id: str | None = None) -> Mail:
    moment = now()
    return Mail(
        id=new_id("mail_"),
        user_id=user_id,
        member_id=member_id,
        type=type,
        address=address,
        data=data,
        state="pending",
        tries=0,
        next_at=moment,
        give_up_at=moment + RETRIED_FOR,
        created_at=moment,
    )
