"""Sign-in, sign-out, and changes of accounts."""

import secrets
from dataclasses import dataclass

from sqlalchemy import delete, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.access.auth import SESSION_LIFETIME, Principal, digest, principal_of_key, session_works
from backend.data.database import flush_unique, lock_row
from backend.data.ids import new_id
from backend.models import ApiKey, BrowserSession, Member, SignInToken, User, now
from backend.users import addresses, attempts, passwords
from reinforge.errors import (
    InvalidInput,
    NotAllowed,
    NotAuthenticated,
    NotFound,
    StateConflict,
    TooManyRequests,
)
from reinforge.schemas.users import AccountUpdate

_AGENT = 200


class Browsers:
    """Opens a browser session, and ends the session of the request's cookie, which an attacker may have
    planted.
    """

    def __init__(self, session: AsyncSession, agent: str | None, cookie: str | None) -> None:
        self.session, self._agent, self._cookie = session, agent, cookie

    async def open(self, project_id: str, *, user_id: str | None = None, key_id: str | None = None) -> str:
        if self._cookie is not None:
            await close_session(self.session, self._cookie)
        cookie = secrets.token_urlsafe(30)
        self.session.add(
            BrowserSession(
                sha256=digest(cookie),
                id=new_id("sess_"),
                project_id=project_id,
                user_id=user_id,
                key_id=key_id,
                agent=(self._agent or "")[:_AGENT] or None,
                expires_at=now() + SESSION_LIFETIME,
            )
        )
        return cookie

    async def open_for(self, user: User, project_id: str | None = None) -> str:
        user.last_seen_at = now()
        if project_id is None:
            memberships = (
                select(Member.project_id).where(Member.user_id == user.id).order_by(Member.created_at)
            )
            project_id = await self.session.scalar(memberships.limit(1))
        if project_id is None:
            raise NotAuthenticated(
                "You are not a member of any project any more.",
                code="no_project",
                hint="Ask an owner of a project for an invitation.",
            )
        return await self.open(project_id, user_id=user.id)

    async def with_token(self, token: str) -> str:
        """Open a session with a key or one-time token. Raises NotAuthenticated."""
        used = await addresses.use(self.session, token, "sign_in", "start")
        if used is None:
            key = await principal_of_key(self.session, ApiKey.sha256 == digest(token))
        elif used.purpose == "start":
            return await self.open_for(await addresses.starter(self.session), used.project_id)
        elif used.user_id is not None:
            user = await self.session.get_one(User, used.user_id)
            return await self.open_for(user, used.project_id)
        else:
            key = await principal_of_key(self.session, ApiKey.id == used.key_id)
        if key is None:
            raise addresses.not_valid()
        return await self.open(key.project_id, key_id=key.id)

    async def with_password(self, email: str, password: str, ip: str) -> str:
        user = await self.session.scalar(select(User).where(User.email == email))
        stored = user.password if user else None
        if not await is_right(self.session, stored, password, email=email, ip=ip):
            raise NotAuthenticated(
                "The e-mail address or the password is wrong.",
                code="wrong_password",
                hint="Ask an owner of your project for a link to set a new password.",
            )
        assert user is not None
        assert stored is not None
        fresh = None
        if passwords.is_outdated(stored):
            fresh = await passwords.hashed(password, name=user.name, email=email, place=ip)
        await lock_row(self.session, user)
        if user.password != stored:  # changed by somebody else meanwhile
            raise NotAuthenticated("The password has just been changed.", code="wrong_password")
        user.password = fresh or stored
        await attempts.forgive(self.session, email)
        return await self.open_for(user)

    async def reset_password(self, token: str, password: str, email: str | None, ip: str) -> str:
        offered = await addresses.look(self.session, token, "reset")
        if offered is None or offered.user_id is None:
            raise addresses.not_valid("link")
        user = await self.session.get_one(User, offered.user_id)
        if email is not None and email != user.email:
            await attempts.count_address(self.session, user.id, ip)
        own = email or user.email
        if own is None:
            raise email_needed()
        await self.session.commit()
        stored = await passwords.hashed(password, name=user.name, email=own, place=ip)
        used = await addresses.use(self.session, token, "reset")
        if used is None or used.user_id is None:
            raise addresses.not_valid("link")
        await lock_row(self.session, user)
        await set_email(self.session, user, email or user.email)
        user.password = stored
        await end_sessions(self.session, user.id)
        await addresses.take_back(self.session, user.id)
        return await self.open_for(user)


async def is_right(session: AsyncSession, stored: str | None, password: str, *, email: str, ip: str) -> bool:
    attempt = await attempts.begin(session, email, ip)
    try:
        return await passwords.matches(stored, password, place=ip)
    except TooManyRequests:
        await attempts.withdraw(session, attempt)
        raise


async def close_session(session: AsyncSession, cookie: str) -> None:
    await session.execute(delete(BrowserSession).where(BrowserSession.sha256 == digest(cookie)))


async def end_sessions(session: AsyncSession, user_id: str, *, but: str | None = None) -> None:
    query = delete(BrowserSession).where(BrowserSession.user_id == user_id)
    await session.execute(query if but is None else query.where(BrowserSession.sha256 != digest(but)))


async def sessions(session: AsyncSession, user_id: str | None) -> list[BrowserSession]:
    query = select(BrowserSession).where(BrowserSession.user_id == user_id, session_works())
    return list(await session.scalars(query.order_by(BrowserSession.created_at.desc())))


async def end_session(session: AsyncSession, user_id: str | None, id: str) -> None:
    result = await session.execute(
        delete(BrowserSession)
        .where(BrowserSession.id == id, BrowserSession.user_id == user_id)
        .returning(BrowserSession.id)
    )
    if result.first() is None:
        raise NotFound(f"There is no session {id}.", code="session_not_found")


def require_user(who: Principal) -> str:
    if who.user_id is None:
        raise StateConflict(
            "An API key has no account.",
            code="no_account",
            hint="Sign in to the page as a person to change your account.",
        )
    return who.user_id


@dataclass(frozen=True)
class AccountChange:
    """Stored and new password hash, computed without a database connection."""

    current: str | None
    password: str | None


async def prepare_change(
    session: AsyncSession, who: Principal, body: AccountUpdate, ip: str
) -> AccountChange:
    user = await session.get_one(User, require_user(who))
    stored, email = user.password, body.email or user.email
    if stored is not None and (body.email is not None or body.password is not None):
        current = body.current_password.get_secret_value() if body.current_password else ""
        if not await is_right(session, stored, current, email=user.email or user.id, ip=ip):
            raise NotAllowed(
                "The current password is wrong.", code="wrong_password", param="current_password"
            )
        await attempts.forgive(session, user.email or user.id)
    if body.email is not None and body.email != user.email:
        await attempts.count_address(session, user.id, ip)
    await session.commit()
    if body.password is None:
        return AccountChange(stored, None)
    if email is None:
        raise email_needed()
    name = body.name or user.name
    fresh = await passwords.hashed(body.password.get_secret_value(), name=name, email=email, place=ip)
    return AccountChange(stored, fresh)


async def update_account(
    session: AsyncSession, who: Principal, body: AccountUpdate, change: AccountChange, cookie: str | None
) -> User:
    user = await session.get_one(User, require_user(who), with_for_update=True, populate_existing=True)
    if user.password != change.current:
        raise NotAllowed(
            "The password has just been changed.", code="wrong_password", param="current_password"
        )
    if body.name is not None:
        user.name = body.name
    if body.email is not None:
        await set_email(session, user, body.email)
    if change.password is not None:
        user.password = change.password
        await end_sessions(session, user.id, but=cookie)
    await session.flush()
    return user


async def set_email(session: AsyncSession, user: User, email: str | None) -> None:
    if email is None:
        raise email_needed()
    user.email = email
    conflict = StateConflict(
        "This e-mail address cannot be used here.",
        code="email_taken",
        param="email",
        hint="Use another one. If it is yours, sign in with it instead.",
    )
    await flush_unique(session, conflict)


def email_needed() -> InvalidInput:
    return InvalidInput(
        "A password needs an e-mail address to sign in with.", code="email_needed", param="email"
    )


async def forget_expired(session: AsyncSession) -> None:
    await session.execute(delete(BrowserSession).where(~session_works()))
    await session.execute(delete(SignInToken).where(SignInToken.expires_at < now()))
    await attempts.forget_old(session)
