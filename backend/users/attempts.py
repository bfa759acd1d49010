"""Counting of failed sign-ins, in the database for all processes."""

from datetime import timedelta

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncSession

from backend.models import SignInFailure, now
from reinforge.errors import TooManyRequests

WINDOW = timedelta(minutes=15)
MOST_HERE = 10
MOST_ANYWHERE = 100


async def begin(
    session: AsyncSession,
    email: str,
    ip: str,
    *,
    message: str = "There were too many wrong passwords.",
    hint: str = f"Wait up to {WINDOW.seconds // 60} minutes, or ask an owner for a one-time link.",
) -> int:
    """Count an attempt before its password is compared, so that concurrent attempts count, too. Commits.
    Raises TooManyRequests.
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
    of_both, of_email, of_ip = (await session.execute(query)).one()
    if of_both > MOST_HERE or max(of_email, of_ip) > MOST_ANYWHERE:
        await withdraw(session, id)  # what is refused makes nobody wait longer
        raise TooManyRequests(
            message,
            code="too_many_attempts",
            hint=hint,
        )
    await session.commit()
    return id


async def count_address(session: AsyncSession, holder: str, ip: str) -> None:
    """Count a change of e-mail address, which reveals whether another account has it. Commits. Raises
    TooManyRequests.
    """
    await begin(
        session,
        f"address of {holder}",
        ip,
        message="Too many e-mail addresses were tried.",
        hint=f"Wait up to {WINDOW.seconds // 60} minutes.",
    )


async def withdraw(session: AsyncSession, id: int) -> None:
    """Delete the count of an attempt whose password was not compared. Commits."""
    await session.execute(delete(SignInFailure).where(SignInFailure.id == id))
    await session.commit()


async def forgive(session: AsyncSession, email: str) -> None:
    await session.execute(delete(SignInFailure).where(SignInFailure.email == email))


async def forget_old(session: AsyncSession) -> None:
    await session.execute(delete(SignInFailure).where(SignInFailure.at < now() - WINDOW))
