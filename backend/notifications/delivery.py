"""E-mail delivery, retried for at most 24 hours."""

import asyncio
import logging
import random
from datetime import timedelta
from email.message import EmailMessage

from sqlalchemy.ext.asyncio import AsyncSession

from backend.data.database import Database
from backend.data.sealing import Sealer
from backend.models import Mail, User, now
from backend.notifications import messages, repository, smtp, tokens
from backend.settings import Settings

log = logging.getLogger(__name__)

AT_ONCE = 5
LEASE = timedelta(seconds=180)
LOOK_SECONDS = 2.0
LONGEST_PAUSE_SECONDS = 3600.0
RETENTION = timedelta(days=7)


def pause(tries: int) -> float:
    """Seconds before the next attempt: 30, 90, 270 …, at most an hour, with jitter."""
    usual: float = min(LONGEST_PAUSE_SECONDS, 30.0 * 3.0 ** min(tries - 1, 20))
    return usual * random.uniform(0.8, 1.2)


class MailDeliveries:
    def __init__(self, database: Database, sealer: Sealer, settings: Settings) -> None:
        self._database, self._sealer, self._settings = database, sealer, settings

    async def send_due(self) -> int:
        if self._settings.smtp_host is None:
            return 0
        async with self._database.transaction() as session:
            due = await repository.take_due(session, most=AT_ONCE, lease=LEASE)
            rendered = [
                (mail.id, message) for mail in due if (message := await self._rendered(session, mail))
            ]
        if rendered:
            parts = [message for _, message in rendered]
            outcomes = await asyncio.to_thread(smtp.send_all, self._settings, parts)
            for (id, _), outcome in zip(rendered, outcomes, strict=True):
                await self._note(id, outcome)
        return len(due)

    async def _rendered(self, session: AsyncSession, mail: Mail) -> EmailMessage | None:
        user = await session.get_one(User, mail.user_id, populate_existing=True)
        base_url, content = self._settings.url.rstrip("/"), None
        if mail.member_id is None:
            if user.email == mail.address:
                token = tokens.confirmation(self._sealer, user.id, mail.address, mail.created_at.timestamp())
                url = f"{base_url}/mail/confirm?token={token}"
                content = messages.confirmation_content(mail.address, base_url, url)
        elif user.email == user.confirmed_email == mail.address:
            membership = await repository.member(session, mail.member_id)
            if membership is not None and mail.type in membership[0].mail_events:
                token = tokens.unsubscription(self._sealer, mail.member_id)
                url = f"{base_url}/mail/unsubscribe?token={token}"
                content = messages.event_content(mail, membership[1].name, base_url, url)
        if content is None:
            mail.state, mail.ended_at, mail.error = "failed", now(), "no longer wanted"
            return None
        return messages.message(mail, content, str(self._settings.smtp_from))

    async def _note(self, id: str, outcome: smtp.MailOutcome) -> None:
        async with self._database.transaction() as session:
            mail = await session.get(Mail, id, with_for_update=True)
            if mail is None or mail.state != "pending":
                return
            mail.tries += 1
            mail.error = outcome.error
            following = now() + timedelta(seconds=pause(mail.tries))
            if outcome.error is None:
                mail.state, mail.ended_at = "sent", now()
            elif outcome.permanent or following > mail.give_up_at:
                mail.state, mail.ended_at = "failed", now()
                log.warning("the e-mail %s was not sent: %s", id, outcome.error)
            else:
                mail.next_at = following
                log.warning("the e-mail %s was not sent, trying again later: %s", id, outcome.error)


async def forget_old(database: Database) -> None:
    async with database.transaction() as session:
        await repository.forget(session, now() - RETENTION)
