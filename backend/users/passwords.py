"""Hashing of passwords with argon2id, in two low-priority child processes: a hash takes 64 MiB and several
cores.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import anyio
from anyio.lowlevel import RunVar
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from backend.processes.pool import ChildDied, children
from reinforge.errors import InvalidInput, TooManyRequests, Unavailable

MOST_WAITING = 64
MOST_WAITING_HERE = 16
_AT_ONCE = 2
_HASHER = PasswordHasher()
_NOBODYS = _HASHER.hash("the password of nobody")
"""Hash to compare with if no user has the address, so that the response time reveals nothing."""

T = TypeVar("T")


_places: RunVar[anyio.CapacityLimiter] = RunVar("passwords at a time")
_waiting: Counter[str] = Counter()


@contextmanager
def _turn(place: str) -> Iterator[None]:
    if _waiting.total() >= MOST_WAITING or _waiting[place] >= MOST_WAITING_HERE:
        raise TooManyRequests(
            "Too many passwords are being checked at this moment.",
            code="sign_in_busy",
            hint="Try again in some seconds.",
        )
    _waiting[place] += 1
    try:
        yield
    finally:
        _waiting[place] -= 1
        if not _waiting[place]:
            del _waiting[place]


async def _apart(place: str, work: Callable[..., T], *arguments: str) -> T:
    places = _places.get(None)
    if places is None:
        _places.set(places := anyio.CapacityLimiter(_AT_ONCE))
    with _turn(place):
        async with places:
            return await _in_child(work, *arguments)


async def _in_child(work: Callable[..., T], *arguments: str) -> T:
    try:
        return await children("passwords").ask(work, *arguments)
    except ChildDied as error:
        raise Unavailable(
            "The password could not be checked.", code="password_check_failed", hint="Try again."
        ) from error


async def hashed(password: str, *, name: str, email: str | None, place: str = "") -> str:
    """Hash of a password. Raises InvalidInput if it equals the name or e-mail address, TooManyRequests if too many
    are being hashed."""
    if password.lower() in (name.lower(), (email or "").lower()):
        raise InvalidInput(
            "The password is the same as the name or the e-mail address.",
            code="weak_password",
            param="password",
            hint="Take one that nobody can guess from who you are.",
        )
    return await _apart(place, _hash, password)


async def matches(stored: str | None, password: str, *, place: str = "") -> bool:
    right = await _apart(place, _verify, stored or _NOBODYS, password)
    return right and stored is not None


def is_outdated(stored: str) -> bool:
    return _HASHER.check_needs_rehash(stored)


def _hash(password: str) -> str:
    return _HASHER.hash(password)


def _verify(stored: str, password: str) -> bool:
    try:
        return _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
