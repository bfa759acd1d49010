"""Wrong passwords are counted, in the database, so that every process of the backend counts together.

Somebody who guesses is held off: for one address from one place after few tries, for one address from anywhere or
from one place for any address after many. Who knows the password waits at most the window's time. Tokens and keys are
not counted: they have 160 random bits and more.
"""

from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import SignInFailure, now
from reinforge.errors import TooManyRequests

WINDOW = timedelta(minutes=15)
MOST_HERE = 10
"""For one address from one place."""
MOST_ANYWHERE = 100
"""For one address from all places together, and for all addresses from one place."""


async def begin(
    session: AsyncSession,
    email: str,
    ip: str,
    *,
    message: str = "There were too many wrong passwords.",
    hint: str = f"Wait up to {WINDOW.seconds // 60} minutes, or ask an owner for a one-time address.",
) -> int:
    """Count an attempt before its password is looked at, so that those side by side count each other.

    The session's transaction is committed: no connection is held while the password is compared. What is returned is
    for `withdraw`. Raises TooManyRequests `too_many_attempts`.
    """
    attempt = SignInFailure(email=email, ip=ip)
    session.add(attempt)
    await session.commit()
    id = attempt.id
    recent = SignInFailure.at > now() - WINDOW
    query = select(
        func.count().filter(SignInFailure.email == email, SignInFailure.ip == ip),
        func.count().filter(SignInFailure.email == email),
        func.count().filter(SignInFailure.ip == ip),
    ).where(recent, (SignInFailure.email == email) | (SignInFailure.ip == ip))
    here, of_email, of_ip = (await session.execute(query)).one()
    if here > MOST_HERE or max(of_email, of_ip) > MOST_ANYWHERE:
        await withdraw(session, id)  # what is refused makes nobody wait longer
        raise TooManyRequests(
            message,
            code="too_many_attempts",
            hint=hint,
        )
    await session.commit()
    return id


async def count_address(session: AsyncSession, holder: str, ip: str) -> None:
    """Count that somebody asks for an e-mail address for themselves, whatever comes of it.

    The answer tells whether another account has it, of whatever project, so nobody may try many. holder: who asks.
    Commits. Raises TooManyRequests.
    """
    await begin(
        session,
        f"address of {holder}",
        ip,
        message="Too many e-mail addresses were tried.",
        hint=f"Wait up to {WINDOW.seconds // 60} minutes.",
    )


async def withdraw(session: AsyncSession, id: int) -> None:
    """The attempt was not one: nothing was compared. Commits."""
    await session.execute(delete(SignInFailure).where(SignInFailure.id == id))
    await session.commit()


async def forgive(session: AsyncSession, email: str) -> None:
    """The right password was given: earlier mistakes are forgotten."""
    await session.execute(delete(SignInFailure).where(SignInFailure.email == email))


async def forget_old(session: AsyncSession) -> None:
    await session.execute(delete(SignInFailure).where(SignInFailure.at < now() - WINDOW))
