"""A person's subscriptions and the confirmation of their address."""

from datetime import timedelta
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import Principal
from backend.data.database import lock_row
from backend.data.sealing import Sealer
from backend.http.conditional import Match
from backend.models import Member, User
from backend.notifications import events, repository, tokens
from backend.settings import Settings
from reinforge.errors import InvalidInput, StateConflict, TooManyRequests
from reinforge.schemas.notifications import Notifications, NotificationsUpdate

CONFIRMATIONS = 5
_SINCE = timedelta(hours=1)


async def read(session: AsyncSession, settings: Settings, who: Principal) -> Notifications:
    if who.user_id is None or who.member_id is None:
        available = settings.smtp_host is not None
        return Notifications(available=available, confirmed=False, confirmation="none", events=[])
    member, user = await _account(session, who)
    return await _view(session, settings, member, user)


async def update(
    session: AsyncSession, settings: Settings, who: Principal, body: NotificationsUpdate, match: Match
) -> Notifications:
    member, user = await _account(session, who)
    await lock_row(session, member)
    match.check(await _view(session, settings, member, user))
    if body.events and not _is_confirmed(user):
        raise StateConflict(
            "The e-mail address is not confirmed.",
            code="email_not_confirmed",
            param="events",
            hint="Ask for a confirmation with POST /api/v1/me/notifications/confirmation, and open its link.",
        )
    member.mail_events = sorted(set(body.events))
    await session.flush()
    return await _view(session, settings, member, user)


async def send_confirmation(session: AsyncSession, settings: Settings, who: Principal) -> Notifications:
    member, user = await _account(session, who)
    if settings.smtp_host is None:
        raise StateConflict(
            "This server sends no e-mail.",
            code="mail_unavailable",
            hint="The operator can set REINFORGE_SMTP_HOST and REINFORGE_SMTP_FROM.",
        )
    if user.email is None:
        raise InvalidInput(
            "The account has no e-mail address.", code="email_needed", hint="Set one in the account settings."
        )
    if _is_confirmed(user):
        raise StateConflict("The e-mail address is confirmed already.", code="email_confirmed")
    await lock_row(session, user)
    for address in (None, user.email):
        count = await repository.recent(session, user.id, _SINCE, confirmations=True, address=address)
        if count >= CONFIRMATIONS:
            raise TooManyRequests(
                f"{CONFIRMATIONS} confirmations were sent in the last hour, the limit.",
                code="too_many_mails",
                hint="Wait up to an hour.",
            )
    session.add(events.mail(repository.CONFIRMATION, user.id, user.email, {}))
    await session.flush()
    return await _view(session, settings, member, user)


async def confirm(session: AsyncSession, sealer: Sealer, token: str, *, save: bool) -> str:
    user_id, address = tokens.confirmed(sealer, token)
    user = await session.get(User, user_id, with_for_update=save)
    if user is None or user.email != address:
        raise tokens.not_valid()
    if save:
        user.confirmed_email = address
    return address


async def unsubscribe(session: AsyncSession, sealer: Sealer, token: str, *, save: bool) -> str:
    row = await repository.member(session, tokens.unsubscribed(sealer, token))
    if row is None:
        raise tokens.not_valid()
    if save:
        await lock_row(session, row[0])
        row[0].mail_events = []
    return row[1].name


async def _account(session: AsyncSession, who: Principal) -> tuple[Member, User]:
    if who.user_id is None:
        raise StateConflict(
            "An API key has no account, so it cannot receive e-mail.",
            code="no_account",
            hint="Sign in to the page as a person.",
        )
    if who.member_id is None:
        raise StateConflict(
            "You are not a member of this project.",
            code="no_member",
            hint="Only members receive e-mail about a project: add yourself.",
        )
    return await session.get_one(Member, who.member_id), await session.get_one(User, who.user_id)


def _is_confirmed(user: User) -> bool:
    return user.email is not None and user.email == user.confirmed_email


async def _view(session: AsyncSession, settings: Settings, member: Member, user: User) -> Notifications:
    newest = await repository.newest_confirmation(session, user.id, user.email) if user.email else None
    confirmation: Literal["none", "pending", "sent", "failed"] = "none"
    if newest is not None:
        confirmation = (
            "pending" if newest.state == "pending" else "sent" if newest.state == "sent" else "failed"
        )
    return Notifications(
        available=settings.smtp_host is not None,
        email=user.email,
        confirmed=_is_confirmed(user),
        confirmation=confirmation,
        events=member.mail_events,
    )
