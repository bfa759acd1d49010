"""Passwords: argon2id with the library's parameters, hashed in a thread and at most two at a time (64 MiB each)."""

import anyio
import anyio.to_thread
from anyio import CapacityLimiter
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from reinforge.errors import InvalidInput

_HASHER = PasswordHasher()
_NOBODYS = _HASHER.hash("the password of nobody")
"""Compared with where there is no user, so that the time of the answer does not tell whether there is one."""
_limiter: CapacityLimiter | None = None


def _at_once() -> CapacityLimiter:
    global _limiter
    if _limiter is None:
        _limiter = CapacityLimiter(2)
    return _limiter


async def hashed(password: str, *, name: str, email: str | None) -> str:
    """What is stored. Raises InvalidInput for a password that is the person's own name or address."""
    if password.lower() in (name.lower(), (email or "").lower()):
        raise InvalidInput(
            "The password is the same as the name or the e-mail address.",
            code="weak_password",
            param="password",
            hint="Take one that nobody can guess from who you are.",
        )
    return await anyio.to_thread.run_sync(_HASHER.hash, password, limiter=_at_once())


async def matches(stored: str | None, password: str) -> bool:
    """Takes as long for a user without a password, or for none at all (`stored` None)."""
    right = await anyio.to_thread.run_sync(_verify, stored or _NOBODYS, password, limiter=_at_once())
    return right and stored is not None


def is_outdated(stored: str) -> bool:
    """Made with weaker parameters than today's."""
    return _HASHER.check_needs_rehash(stored)


def _verify(stored: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
